"""Checks of the host: memory, /dev/shm, disk, port, files beside launch.py, WSL."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.doctor.finding import Finding, Scene

GIB = 1 << 30
LOADER_MIB = 16384
"""Host memory at and below which the mapping loader hung a host. Source: guard loader-larger-than-the-host."""
DISK = 10 * GIB
"""Room that compiled kernels of a few configurations take, with some to spare. Assumed."""
WINDOWS = ("/mnt/c/", "/mnt/d/", "/mnt/e/", "/mnt/f/")


def host_memory(scene: Scene) -> Iterator[Finding]:
    """Too little memory for the loader."""
    mib = scene.get("host.memory_mib")
    if mib and mib <= LOADER_MIB and scene.on_gpu and not scene.launch.streams_weights:
        yield Finding(
            "host-memory",
            "warning",
            f"the host has {mib} MiB of memory",
            "the stock loader maps the whole model and can hang a 16 GiB host beyond killing; swap does not help",
            "guard loader-larger-than-the-host (g-load-stock-peak)",
            "run launch.py -- --load-format runai_streamer, with runai-model-streamer installed in the engine's environment",
        )


def shared_memory(scene: Scene) -> Iterator[Finding]:
    """/dev/shm is smaller than what will be put there."""
    free = scene.get("shm_free_bytes")
    if free is None:
        return
    tier = scene.launch.tier_bytes
    if tier and free < tier:
        yield Finding(
            "shared-memory",
            "problem",
            f"/dev/shm has {free / GIB:.1f} GiB free, and the offload tier takes {tier / GIB:.1f}",
            "the engine refuses to start, or dies when the tier fills",
            "hazard docker-default-shm-too-small",
            "run the container with --ipc=host or a larger --shm-size, or lower KV_OFFLOAD_GB",
        )
    elif free < 1 << 26:
        yield Finding(
            "shared-memory",
            "warning" if scene.launch.gpus == 1 else "problem",
            f"/dev/shm has {free / GIB:.2f} GiB free",
            "the engine's processes talk through it, and several GPUs need it for NCCL",
            "hazard docker-default-shm-too-small",
            "run the container with --ipc=host, or a larger --shm-size",
        )


def stale_regions(scene: Scene) -> Iterator[Finding]:
    """Offload regions of servers that are gone."""
    names = scene.get("stale_regions", [])
    if names:
        yield Finding(
            "stale-regions",
            "warning",
            f"{len(names)} offload regions in /dev/shm belong to no process: {', '.join(names[:3])}",
            "they hold memory of the host until they are removed",
            "rule R2, hazard offload-region-holds-ram-after-exit",
            "run launch.py doctor --fix",
            "remove_regions",
        )


def disk_room(scene: Scene) -> Iterator[Finding]:
    """Little room for the compile cache."""
    free = scene.get("disk_free_bytes")
    if free is not None and free < DISK:
        yield Finding(
            "disk-room",
            "problem" if free < GIB else "warning",
            f"{free / GIB:.1f} GiB are free where the engine keeps compiled kernels",
            "a full disk ends the start in the middle of compiling",
            "assumed: 10 GiB hold the kernels of a few configurations",
            "free some room, or set VLLM_CACHE_ROOT to a folder on another disk",
        )


def port_in_use(scene: Scene) -> Iterator[Finding]:
    """Something listens already."""
    if scene.get("port_taken"):
        port = scene.launch.port
        yield Finding(
            "port-in-use",
            "problem",
            f"something listens on port {port}",
            "the server loads the whole model and then cannot listen",
            "vLLM binds its port before it serves",
            f"set PORT to another one, or stop what `ss -ltnp 'sport = :{port}'` shows",
        )


def crlf(scene: Scene) -> Iterator[Finding]:
    """Windows line ends in env files."""
    for name in scene.get("crlf_files", []):
        yield Finding(
            "crlf",
            "warning",
            f"{name} has Windows line ends",
            "a shell or Docker reads the carriage return as part of each value",
            "an editor on Windows writes them",
            f"run sed -i 's/\\r$//' {name}, or launch.py doctor --fix",
            "unix_line_ends",
        )


def key_file_readable(scene: Scene) -> Iterator[Finding]:
    """Others may read the API key."""
    mode = scene.get("key_file_mode")
    if mode is not None and mode & 0o077:
        yield Finding(
            "key-file-readable",
            "warning",
            f"api_key.txt has mode {mode:04o}: other users of this host can read the key",
            "whoever has the key can use the server",
            "rule R123",
            "run chmod 600 api_key.txt, or launch.py doctor --fix",
            "close_key_file",
        )


def virtual_machine(scene: Scene) -> Iterator[Finding]:
    """A VM: slower where graphs do not capture all."""
    if scene.get("virtual_machine") and not scene.get("wsl") and scene.on_gpu:
        yield Finding(
            "virtual-machine",
            "note",
            "this host is a virtual machine",
            "starting kernels costs more there: an uncaptured verify takes two to three times as long",
            "hazard piecewise-under-passthrough (l-passthrough-piecewise)",
            "keep CUDA graphs on, and leave CUDAGRAPH_MODE unset",
        )


def wsl_allocator(scene: Scene) -> Iterator[Finding]:
    """Expandable segments are not there under WSL."""
    allocator = (scene.launch.allocator or "").replace(" ", "").lower()
    if scene.get("wsl") and "expandable_segments:true" in allocator:
        yield Finding(
            "wsl-allocator",
            "problem",
            f"PYTORCH_CUDA_ALLOC_CONF={scene.launch.allocator} on WSL",
            "WSL rejects expandable segments, and the engine dies in the start",
            "guard expandable-segments-on-wsl, rule R116",
            "unset PYTORCH_CUDA_ALLOC_CONF",
        )


def wsl_pinned_memory(scene: Scene) -> Iterator[Finding]:
    """DFlash2 needs pinned memory, which WSL has only when asked."""
    if (
        scene.get("wsl")
        and scene.launch.drafts_with_model
        and scene.get("environment.VLLM_WSL2_ENABLE_PIN_MEMORY") in ("0", "false", "False")
    ):
        yield Finding(
            "wsl-pinned-memory",
            "problem",
            "VLLM_WSL2_ENABLE_PIN_MEMORY switches pinned memory off, and the launch drafts with a model",
            "DFlash2 aborts early in the start without it",
            "guard pinned-memory-switched-off-on-wsl, hazard uva-unavailable-on-wsl2",
            "unset VLLM_WSL2_ENABLE_PIN_MEMORY",
        )


def wsl_model_on_windows(scene: Scene) -> Iterator[Finding]:
    """The model is read through the Windows file system."""
    model = scene.launch.model or ""
    if scene.get("wsl") and model.startswith(WINDOWS):
        yield Finding(
            "wsl-model-on-windows",
            "warning",
            f"{model} is on a Windows disk",
            "WSL reads it through a network protocol: loading takes minutes instead of seconds",
            "Microsoft's notes on WSL file systems",
            "copy the model into the Linux file system, and set MODEL to that folder",
        )


def wsl_overcommit(scene: Scene) -> Iterator[Finding]:
    """Windows pages GPU memory out in silence."""
    total, free = scene.get("gpu.vram_mib"), scene.get("gpu.vram_free_mib")
    if scene.get("wsl") and total and free is not None and total - free > 2048:
        yield Finding(
            "wsl-overcommit",
            "warning",
            f"{total - free} of {total} MiB of the card are in use under WSL, where a clean start leaves all but 1.6 GiB",
            "Windows moves what does not fit to host memory without a word, and steps take up to six times as long",
            "hazard wsl2-dedicated-memory-ceiling (w-util95-avail)",
            "close what uses the GPU on Windows, or lower GPU_UTIL",
        )


CHECKS = (
    host_memory,
    shared_memory,
    stale_regions,
    disk_room,
    port_in_use,
    crlf,
    key_file_readable,
    virtual_machine,
    wsl_allocator,
    wsl_pinned_memory,
    wsl_model_on_windows,
    wsl_overcommit,
)
