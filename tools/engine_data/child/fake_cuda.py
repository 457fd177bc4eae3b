"""vLLM's own CUDA platform code on a machine without a GPU: the compute capability is faked, everything else is real.

`install` must run before anything else of vLLM is imported, in a process without VLLM_TARGET_DEVICE.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from tools.engine_data.child.loading import load

EXTENSIONS = (
    "vllm._C_stable_libtorch",
    "vllm._C",
    "vllm._moe_C_stable_libtorch",
    "vllm._moe_C",
    "vllm._qutlass_C",
    "vllm.vllm_flash_attn._vllm_fa2_C",
    "vllm.vllm_flash_attn._vllm_fa3_C",
)
VRAM_BYTES = 24 << 30
COMPUTE_UNITS = 82
DEVICE_NAME = "this card"

ASSUMPTIONS = (
    "the engine's CUDA platform class without NVML, on a faked compute capability, CUDA runtime 13; compiled extensions stand in as "
    "empty modules, so their presence is assumed; FlashInfer's prebuilt kernels are assumed present; optional packages that are not "
    "installed count as missing; FlashInfer's scratch counters are not allocated; decoder attention, 24 heads, 4 KV heads, no MLA, no sinks, no sliding window"
)


def install() -> Any:
    """Puts the faked platform in place and returns its class; set its capability with `set_capability`."""
    for name in EXTENSIONS:
        sys.modules[name] = types.ModuleType(name)
    platforms = load("vllm.platforms")
    base: Any = load("vllm.platforms.cuda").NonNvmlCudaPlatform
    DeviceCapability = load("vllm.platforms.interface").DeviceCapability

    class FakeCuda(base):  # type: ignore[misc]
        """A CUDA device that says what it is told to say."""

        cap = DeviceCapability(8, 6)
        devices = 1

        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return cls.cap

        @classmethod
        def has_device_capability(cls, capability: Any, device_id: int = 0) -> bool:
            wanted = divmod(capability, 10) if isinstance(capability, int) else capability
            return bool(cls.cap >= DeviceCapability(*wanted))

        @classmethod
        def device_count(cls) -> int:
            return cls.devices

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return DEVICE_NAME

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return VRAM_BYTES

        @classmethod
        def num_compute_units(cls, device_id: int = 0) -> int:
            return COMPUTE_UNITS

        @classmethod
        def get_cuda_runtime_major(cls) -> int:
            return 13

    platforms._current_platform = FakeCuda()
    flashinfer = load("vllm.utils.flashinfer")

    flashinfer.has_nvidia_artifactory = lambda: True
    flashinfer.has_flashinfer_cubin = lambda: True
    torch = load("torch")

    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(
        name=DEVICE_NAME,
        multi_processor_count=COMPUTE_UNITS,
        total_memory=VRAM_BYTES,
        major=FakeCuda.cap[0],
        minor=FakeCuda.cap[1],
    )
    return FakeCuda


def set_capability(platform: Any, capability: str) -> Any:
    """Sets the faked capability ("8.6") and forgets everything vLLM has cached about the device."""
    DeviceCapability = load("vllm.platforms.interface").DeviceCapability

    major, minor = capability.split(".")
    platform.cap = DeviceCapability(int(major), int(minor))
    for module in list(sys.modules.values()):
        if module and getattr(module, "__name__", "").startswith("vllm"):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    return platform.cap
