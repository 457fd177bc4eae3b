"""Checks of the cards and their driver."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resolver.doctor.finding import Finding, Scene
from resolver.serving.probes.gpu import IN_USE_MIB

DRIVERS = {13: 580, 12: 525}
"""The oldest driver branch that runs programs built with a CUDA release. Source: NVIDIA's CUDA release notes."""


def driver_too_old(scene: Scene) -> Iterator[Finding]:
    """The wheel's CUDA release needs a newer driver."""
    driver, torch = scene.get("gpu.driver"), scene.get("packages", {}).get("torch", "")
    built = re.search(r"\+cu(\d\d)\d", torch)
    if not driver or not built:
        return
    needed = DRIVERS.get(int(built[1]))
    branch = str(driver).split(".", maxsplit=1)[0]
    if needed and branch.isdigit() and int(branch) < needed:
        yield Finding(
            "driver-too-old",
            "problem",
            f"the driver is {driver}, and torch {torch} needs {needed} or later",
            "CUDA cannot be started, and the engine finds no GPU",
            "NVIDIA's CUDA release notes",
            f"install driver {needed} or later on the host",
        )


def gpu_memory(scene: Scene) -> Iterator[Finding]:
    """Somebody holds memory of the card."""
    total, free = scene.get("gpu.vram_mib"), scene.get("gpu.vram_free_mib")
    held = scene.get("gpu.processes", [])
    used = total - free if total and free is not None else 0
    if used <= IN_USE_MIB or scene.get("wsl"):
        return
    who = ", ".join(f"{name} ({pid}) {mib} MiB" for pid, name, mib in held[:5]) or "no process that the driver names"
    yield Finding(
        "gpu-memory",
        "warning",
        f"{used} of {total} MiB are in use before the start: {who}",
        "a pinned pool dies on a real request, an unpinned one is smaller for the life of the server",
        "guard gpu-memory-in-use-already, hazard dirty-gpu-shrinks-pool",
        "stop " + " and ".join(str(pid) for pid, _, _ in held[:5])
        if held
        else "wait until the last server has let go, or restart the card's owner",
    )


def display_attached(scene: Scene) -> Iterator[Finding]:
    """A desktop is on the card."""
    if scene.get("gpu.display"):
        yield Finding(
            "display-attached",
            "warning",
            "a display is active on a card",
            "a desktop with a browser takes about 1.3 GiB, and the pinned pool assumes a card of its own",
            "hazard kv-mem-assumes-headless (g-desktop-share)",
            "run the display on another card, or lower KV_MEM by 1.5 GiB",
        )


def power_cap(scene: Scene) -> Iterator[Finding]:
    """The card may not draw what it was made for."""
    for limit, default in scene.get("gpu.power", []):
        if limit < default - 1:
            yield Finding(
                "power-cap",
                "note",
                f"the power limit is {limit:.0f} W, and {default:.0f} W by default",
                "the card is slower than published figures, which is easily taken for a slow program",
                "hazard power-cap-misread-as-software",
                f"run nvidia-smi -pl {default:.0f}, or compare with figures at this limit",
            )
            return


def which_gpu(scene: Scene) -> Iterator[Finding]:
    """Unlike cards, and nothing says which one is meant."""
    names = scene.get("gpu.names", [])
    if len(set(names)) > 1 and not scene.get("environment.CUDA_VISIBLE_DEVICES"):
        yield Finding(
            "which-gpu",
            "warning",
            f"there are unlike cards ({', '.join(names)}), and CUDA_VISIBLE_DEVICES is unset",
            "the engine takes the first card in CUDA's own order, which need not be the driver's",
            "hazard gpu-count-default-picks-first-card",
            "set CUDA_DEVICE_ORDER=PCI_BUS_ID and CUDA_VISIBLE_DEVICES to the card that is meant",
        )


def fewer_cards(scene: Scene) -> Iterator[Finding]:
    """The launch uses more cards than there are."""
    count = scene.get("gpu.count")
    if count is not None and scene.on_gpu and scene.launch.gpus > count:
        yield Finding(
            "fewer-gpus",
            "problem",
            f"the launch uses {scene.launch.gpus} GPUs, and {count} can be seen",
            "the engine cannot start",
            "guard more-gpus-than-there-are",
            "lower TENSOR_PARALLEL_SIZE, or make the other cards visible",
        )


def peer_to_peer(scene: Scene) -> Iterator[Finding]:
    """Several cards that reach each other over root ports only."""
    links = scene.get("gpu.far_links", [])
    if links and scene.launch.gpus > 1:
        yield Finding(
            "peer-to-peer",
            "note",
            f"cards reach each other across root ports or sockets: {', '.join(links[:4])}",
            "peer transfers can fail there on consumer boards, and are slow",
            "hazard nccl-p2p-across-root-ports",
            "set NCCL_P2P_DISABLE=1 if the start hangs or fails in NCCL",
        )


CHECKS = (driver_too_old, gpu_memory, display_attached, power_cap, which_gpu, fewer_cards, peer_to_peer)
