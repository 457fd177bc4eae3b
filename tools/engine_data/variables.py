"""Environment variables that the libraries shipped with vLLM read, beside vLLM's own.

Each names a file of the parser environment in which the reader is, and why it counts; `verify` looks the name up there,
so an entry whose reader has gone cannot stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tools.engine_data import environment


class Reader(NamedTuple):
    """Where a variable is read (a path below site-packages, or below the engine's own source), and what it does."""

    file: str
    why: str


class NoReaderError(RuntimeError):
    """A variable is listed, but its file does not name it."""


OTHER_VARIABLES: Mapping[str, Reader] = {
    "CC": Reader("torch/utils/cpp_extension.py", "the C compiler that builds extensions and kernels' launchers"),
    "CUDA_DEVICE_ORDER": Reader(
        "vllm/platforms/cuda.py", "how the driver numbers cards; the engine warns where cards differ"
    ),
    "CUDA_HOME": Reader(
        "torch/utils/cpp_extension.py", "where nvcc, headers and libraries are looked for (FlashInfer's JIT too)"
    ),
    "CUDA_PATH": Reader("torch/utils/cpp_extension.py", "taken where CUDA_HOME is not set"),
    "CUDA_VISIBLE_DEVICES": Reader("torch/cuda/__init__.py", "which cards exist for the process"),
    "CXX": Reader("flashinfer/jit/cpp_ext.py", "the C++ compiler that builds FlashInfer's kernels"),
    "FLASHINFER_CUDA_ARCH_LIST": Reader("flashinfer/compilation_context.py", "the architectures kernels are built for"),
    "FLASHINFER_DISABLE_VERSION_CHECK": Reader(
        "flashinfer/jit/env.py", "lets FlashInfer run beside prebuilt kernels of another version"
    ),
    "FLASHINFER_NVCC": Reader("flashinfer/jit/cpp_ext.py", "the nvcc that builds its kernels"),
    "FLASHINFER_WORKSPACE_BASE": Reader("flashinfer/jit/env.py", "where built kernels are kept"),
    "GLOO_SOCKET_IFNAME": Reader("torch/lib/libtorch_cpu.so", "the network interface between nodes, for gloo"),
    "HF_HOME": Reader("huggingface_hub/constants.py", "where downloads are kept"),
    "HF_HUB_OFFLINE": Reader("huggingface_hub/constants.py", "no download at all"),
    "HF_TOKEN": Reader("huggingface_hub/utils/_auth.py", "the secret for gated downloads"),
    "MAX_JOBS": Reader("flashinfer/jit/cpp_ext.py", "how many compilers run at once"),
    "NCCL_DEBUG": Reader("torch/lib/libtorch_cpu.so", "how much NCCL logs"),
    "NCCL_SOCKET_IFNAME": Reader("torch/lib/libtorch_cpu.so", "the network interface between nodes, for NCCL"),
    "OMP_NUM_THREADS": Reader(
        "vllm/v1/executor/multiproc_executor.py", "OpenMP threads of each worker; set by the engine where unset"
    ),
    "PATH": Reader("torch/utils/cpp_extension.py", "ninja, nvcc and compilers are found there"),
    "PYTORCH_ALLOC_CONF": Reader("torch/lib/libc10.so", "the caching allocator's settings, newer name"),
    "PYTORCH_CUDA_ALLOC_CONF": Reader(
        "torch/lib/libc10.so", "the caching allocator's settings; the engine looks at expandable_segments"
    ),
    "TORCHINDUCTOR_CACHE_DIR": Reader("torch/_inductor/runtime/cache_dir_utils.py", "where compiled graphs are kept"),
    "TORCH_COMPILE_DISABLE": Reader("vllm/config/vllm.py", "turns compilation off"),
    "TORCH_CUDA_ARCH_LIST": Reader("torch/utils/cpp_extension.py", "the architectures extensions are built for"),
    "TRITON_CACHE_DIR": Reader("triton/knobs.py", "where compiled kernels are kept"),
    "TRITON_LIBCUDA_PATH": Reader("triton/knobs.py", "where libcuda.so is"),
}


def named(name: bytes, data: bytes) -> bool:
    """Whether `name` stands in `data` as a whole word."""
    start = data.find(name)
    while start >= 0:
        around = data[max(start - 1, 0) : start] + data[start + len(name) : start + len(name) + 1]
        if not re.search(rb"\w", around):
            return True
        start = data.find(name, start + 1)
    return False


def verify(env: Path, version: str) -> None:
    """Raises NoReaderError naming every listed variable that its file does not hold, for this version of the engine."""
    packages = next(iter(sorted(env.glob("lib/python3*/site-packages"))), env)
    missing = []
    for name, reader in OTHER_VARIABLES.items():
        base = environment.source(env, version) if reader.file.startswith("vllm/") else packages
        path = base / reader.file
        if not path.is_file() or not named(name.encode(), path.read_bytes()):
            missing.append(f"{name} in {reader.file}")
    if missing:
        raise NoReaderError("not read where they are said to be read: " + ", ".join(missing))
