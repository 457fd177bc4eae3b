#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Make .venv-kernels in the repository: what the tests in kernels/ need, without a GPU and without vLLM.
#   tools/setup_kernels_venv.sh               then   .venv-kernels/bin/python -m pytest kernels
# PYTHON names the interpreter (default python3). On Linux pip's torch brings CUDA libraries of several GB along. Whoever
# wants the CPU build sets PIP_EXTRA_INDEX_URL to the index that pytorch.org names for it (Get Started, Compute Platform:
# CPU) and TORCH=torch==2.13.0+cpu; the tests are the same.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-kernels
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
printf "*\n" > "$venv/.gitignore"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  "${TORCH:-torch==2.13.0}" triton==3.9.0 'pytest>=8' 'hypothesis>=6' 'numpy>=2' 'jsonschema>=4' -e kernels
"$venv/bin/python" -c 'import splitverify, torch, triton; print("kernels:", "splitverify", splitverify.__version__, "torch", torch.__version__, "triton", triton.__version__)'
