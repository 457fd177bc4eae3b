# SPDX-License-Identifier: Apache-2.0
"""vLLM's CUDA platform with a made-up capability, where there is no GPU. Imported by the children, before vLLM.

vLLM's compiled modules, which cannot load there, are left empty. Nothing of its selection logic is replaced.
"""

from __future__ import annotations

import sys
import types
from typing import Any

for name in ("vllm._C_stable_libtorch", "vllm._C", "vllm._moe_C_stable_libtorch", "vllm._moe_C", "vllm._qutlass_C",
             "vllm.vllm_flash_attn._vllm_fa2_C", "vllm.vllm_flash_attn._vllm_fa3_C"):
    sys.modules[name] = types.ModuleType(name)

if sys.argv[1] in ("layer", "forward", "sampler"):
    # vLLM hides triton where it finds no GPU driver; here its kernels are wanted, in the interpreter.
    found = types.ModuleType("vllm.triton_utils.importing")
    found.HAS_TRITON = True  # type: ignore[attr-defined]
    found.TritonPlaceholder = found.TritonLanguagePlaceholder = object  # type: ignore[attr-defined]
    sys.modules["vllm.triton_utils.importing"] = found

import torch  # noqa: E402
import vllm.platforms  # noqa: E402
import vllm.platforms.cuda  # noqa: E402
from vllm.platforms.interface import DeviceCapability  # noqa: E402


class Cuda(vllm.platforms.cuda.NonNvmlCudaPlatform):
    """A CUDA platform of any capability."""

    capability = DeviceCapability(9, 0)

    @classmethod
    def get_device_capability(cls, device_id: int = 0) -> DeviceCapability:
        return cls.capability

    @classmethod
    def has_device_capability(cls, capability: Any, device_id: int = 0) -> bool:
        if isinstance(capability, int):
            capability = (capability // 10, capability % 10)
        return bool(cls.capability >= DeviceCapability(*capability))

    @classmethod
    def get_device_name(cls, device_id: int = 0) -> str:
        return "made up"

    @classmethod
    def get_device_total_memory(cls, device_id: int = 0) -> int:
        return 24 << 30

    @classmethod
    def num_compute_units(cls, device_id: int = 0) -> int:
        return 82


def pretend_gpu(major: int, minor: int) -> None:
    """A GPU of that capability for vLLM and for splitverify, whose tensors are on the CPU."""
    import splitverify.plugin.layer as layer_module

    torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(  # type: ignore[assignment]
        major=major, minor=minor, multi_processor_count=4)
    layer_module.layer_device = lambda: torch.device("cpu")
    Cuda.capability = DeviceCapability(major, minor)
