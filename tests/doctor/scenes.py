"""A clean machine as facts, and what is planted in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from resolver.doctor.finding import Launch, Scene

GIB = 1 << 30
WHOLE = {"there": True, "faults": [], "tokenizer": True}
LAUNCH = Launch(
    model="/models/m",
    draft="/models/d",
    port=18020,
    drafts_with_model=True,
    allocator="expandable_segments:True",
    builds_kernels=True,
    engines=("0.30.0", "0.31.0"),
    plugin_engines={"pth_flash_attn": ("0.31.0",)},
)
CLEAN: dict[str, Any] = {
    "device": "cuda",
    "gpu.name": "NVIDIA GeForce RTX 3090",
    "gpu.names": ["NVIDIA GeForce RTX 3090"],
    "gpu.count": 1,
    "gpu.vram_mib": 24576,
    "gpu.vram_free_mib": 24300,
    "gpu.driver": "580.159.04",
    "gpu.processes": [],
    "gpu.display": False,
    "gpu.power": [(350.0, 350.0)],
    "gpu.far_links": [],
    "wsl": False,
    "container": False,
    "shm_free_bytes": 32 * GIB,
    "host.memory_mib": 65536,
    "host.available_mib": 60000,
    "stale_regions": [],
    "disk_free_bytes": 200 * GIB,
    "compile_cache": True,
    "port_taken": False,
    "virtual_machine": False,
    "nvcc_major": 13,
    "packages": {"vllm": "0.31.0", "torch": "2.13.0+cu130", "flashinfer-python": "0.6.1", "flashinfer-cubin": "0.6.1"},
    "installed": ["pth_flash_attn"],
    "engine.version": "0.31.0",
    "other_engines": [],
    "crlf_files": [],
    "key_file_mode": 0o600,
    "model": WHOLE,
    "draft": {"there": True, "faults": [], "tokenizer": False},
}


def scene(facts: dict[str, Any] | None = None, **launch: Any) -> Scene:
    """The clean machine with some facts and some of the launch changed; None makes a fact unknown."""
    mixed = {**CLEAN, **(facts or {})}
    return Scene({name: value for name, value in mixed.items() if value is not None}, replace(LAUNCH, **launch))


Planted = tuple[str, dict[str, Any], dict[str, Any]]
PLANTED: list[Planted] = [
    ("driver-too-old", {"gpu.driver": "535.183.01"}, {}),
    ("gpu-memory", {"gpu.vram_free_mib": 20000, "gpu.processes": [(4242, "python3", 4200)]}, {}),
    ("display-attached", {"gpu.display": True}, {}),
    ("power-cap", {"gpu.power": [(220.0, 350.0)]}, {}),
    ("which-gpu", {"gpu.names": ["NVIDIA GeForce RTX 3090", "NVIDIA T400"]}, {}),
    ("fewer-gpus", {}, {"gpus": 2}),
    ("peer-to-peer", {"gpu.far_links": ["GPU0-GPU1 PHB"]}, {"gpus": 2}),
    ("host-memory", {"host.memory_mib": 15900}, {}),
    ("shared-memory", {"shm_free_bytes": 1 << 25}, {}),
    ("stale-regions", {"stale_regions": ["vllm_offload_1.mmap"]}, {}),
    ("disk-room", {"disk_free_bytes": 3 * GIB}, {}),
    ("port-in-use", {"port_taken": True}, {}),
    ("crlf", {"crlf_files": ["/srv/launch/server.env"]}, {}),
    ("key-file-readable", {"key_file_mode": 0o644}, {}),
    ("virtual-machine", {"virtual_machine": True}, {}),
    ("engine-unknown", {"engine.version": "0.27.1"}, {}),
    ("two-installs", {"other_engines": ["/usr/local/bin/vllm"]}, {}),
    ("flashinfer-versions", {"packages": {**CLEAN["packages"], "flashinfer-cubin": "0.5.3"}}, {}),
    ("loader-packages", {"packages": {**CLEAN["packages"], "runai-model-streamer-s3": "0.15.0"}}, {}),
    ("toolchain", {"nvcc_major": 12}, {}),
    ("plugins", {"environment.VLLM_PLUGINS": "other"}, {}),
    ("compile-cache", {"compile_cache": False}, {}),
    ("partial-checkpoint", {"model": {**WHOLE, "faults": ["a.safetensors is cut short"]}}, {}),
    ("draft-missing", {"draft": {"there": False, "faults": [], "tokenizer": False}}, {}),
    ("tokenizer", {"model": {**WHOLE, "tokenizer": False}}, {}),
    ("unread-variables", {}, {"unread": (("VLLM_ATTENTION_BACKENDS", "did you mean VLLM_ATTENTION_BACKEND?"),)}),
    ("engine-missing", {"engine.version": None, "packages": {}}, {}),
    ("model-missing", {"model": {"there": False, "faults": [], "tokenizer": False}}, {}),
    ("wsl-allocator", {"wsl": True}, {}),
    ("wsl-pinned-memory", {"wsl": True, "environment.VLLM_WSL2_ENABLE_PIN_MEMORY": "0"}, {"allocator": None}),
    ("wsl-model-on-windows", {"wsl": True}, {"model": "/mnt/c/models/m", "allocator": None}),
    ("wsl-overcommit", {"wsl": True, "gpu.vram_free_mib": 19000}, {"allocator": None}),
]
TOGETHER = 26
"""The first so many can be planted in one machine."""
