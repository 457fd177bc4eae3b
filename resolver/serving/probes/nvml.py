"""What does NVIDIA's management library say about the cards?"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.cards import Card, Cards

MIB = 1 << 20
T = TypeVar("T")


def read(world: World) -> Cards:
    """Ask NVML for the cards, in a thread, so that a driver that hangs costs `world.wait` seconds and no more.

    Raises:
        Unknown: the Python package or the library is missing, fails or hangs.
    """
    try:
        nvml = importlib.import_module("pynvml")
    except Exception as error:
        raise Unknown(f"NVML: the package nvidia-ml-py does not import ({type(error).__name__})") from None
    answer: list[Cards | Exception] = []

    def ask() -> None:
        try:
            answer.append(_ask(nvml))
        except Exception as error:
            answer.append(error)

    thread = threading.Thread(target=ask, daemon=True, name="nvml")
    thread.start()
    thread.join(world.wait)
    if not answer:
        raise Unknown(f"NVML did not answer within {world.wait:g} s")
    if isinstance(answer[0], Exception):
        raise Unknown(f"NVML: {str(answer[0]) or type(answer[0]).__name__}")
    return answer[0]


def _ask(nvml: Any) -> Cards:
    nvml.nvmlInit()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        cards = tuple(_card(nvml, handle) for handle in handles)
        return Cards(cards, _maybe(lambda: _text(nvml.nvmlSystemGetDriverVersion())), "NVML")
    finally:
        _maybe(nvml.nvmlShutdown)


def _maybe(ask: Callable[[], T]) -> T | None:
    """One question that may have no answer on this card or driver."""
    try:
        return ask()
    except Exception:
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _pair(value: Any) -> tuple[int, int]:
    major, minor = value
    return int(major), int(minor)


def _card(nvml: Any, handle: Any) -> Card:
    memory = _maybe(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    return Card(
        _maybe(lambda: _text(nvml.nvmlDeviceGetUUID(handle))),
        _maybe(lambda: _text(nvml.nvmlDeviceGetName(handle))),
        _maybe(lambda: _pair(nvml.nvmlDeviceGetCudaComputeCapability(handle))),
        _maybe(lambda: int(memory.total) // MIB) if memory else None,
        _maybe(lambda: int(memory.free) // MIB) if memory else None,
        _slices(nvml, handle),
    )


def _slices(nvml: Any, handle: Any) -> tuple[Card, ...] | None:
    mode = _maybe(lambda: nvml.nvmlDeviceGetMigMode(handle)[0])
    if mode != 1:
        return ()
    most = _maybe(lambda: int(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)))
    capability = _maybe(lambda: _pair(nvml.nvmlDeviceGetCudaComputeCapability(handle)))
    found = []
    for index in range(most or 0):
        part = _maybe(partial(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index))
        if part is not None:
            card = _card(nvml, part)
            found.append(Card(card.uuid, card.name, card.capability or capability, card.vram_mib, card.vram_free_mib))
    return tuple(found) or None
