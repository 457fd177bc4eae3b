# SPDX-License-Identifier: Apache-2.0
"""Starts the children of the tests that need vLLM 0.31, in the Python that SPLITVERIFY_TEST_VLLM_PYTHON names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("SPLITVERIFY_TEST_VLLM_PYTHON")
HERE = Path(__file__).parent


def child(site: Path, command: str, arguments: Any, script: str = "vllm_child.py", **environment: str) -> Any:
    """Run ``script`` there, with ``site`` on its path, and return what it printed."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("VLLM_", "FA2_", "SPLITVERIFY_", "TRITON_"))}
    done = subprocess.run(
        [str(PYTHON), str(HERE / script), command, json.dumps(arguments)], capture_output=True, text=True, timeout=500,
        env={**clean, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{site}", "VLLM_LOGGING_LEVEL": "WARNING", **environment})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
