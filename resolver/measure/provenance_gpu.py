"""What does NVML say of the cards a measurement ran on, beyond what the rules ask for? Power cap and clocks; null when unknown."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

WAIT = 5.0  # seconds after which a driver counts as hung


@dataclass(frozen=True, slots=True)
class CardState:
    """What all cards of one name agree on. `power_cap_w` is in watts, `clocks` in MHz by name; None and absent are unknown."""

    power_cap_w: int | None = None
    clocks: Mapping[str, int] = field(default_factory=dict)
    driver: str | None = None


def read(name: str | None, wait: float = WAIT, nvml: Any = None) -> CardState:
    """Ask NVML about the cards called `name`. Never raises: without the package, the library or a card all is unknown.

    Args:
        name: the GPU's name as the driver says it; None asks nothing.
        wait: seconds to wait for the driver.
        nvml: the module to ask; None takes pynvml.
    """
    if name is None:
        return CardState()
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except Exception:
            return CardState()
    answer: list[CardState] = []

    def ask() -> None:
        found = _maybe(lambda: _ask(nvml, name))
        answer.append(found or CardState())

    thread = threading.Thread(target=ask, daemon=True, name="nvml")
    thread.start()
    thread.join(wait)
    return answer[0] if answer else CardState()


def _ask(nvml: Any, name: str) -> CardState:
    nvml.nvmlInit()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        mine = [handle for handle in handles if _maybe(lambda h=handle: _text(nvml.nvmlDeviceGetName(h))) == name]  # type: ignore[misc]
        caps = [_maybe(lambda h=h: int(nvml.nvmlDeviceGetEnforcedPowerLimit(h)) // 1000) for h in mine]  # type: ignore[misc]
        clocks = {}
        for key, question, kind in (
            ("sm_max_mhz", "nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM"),
            ("memory_max_mhz", "nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_MEM"),
            ("sm_mhz", "nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
            ("memory_mhz", "nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
        ):
            asked = [_maybe(lambda h=h: int(getattr(nvml, question)(h, getattr(nvml, kind)))) for h in mine]  # type: ignore[misc] # noqa: B023
            value = _agreed(asked)
            if value is not None:
                clocks[key] = value
        driver = _maybe(lambda: _text(nvml.nvmlSystemGetDriverVersion()))
        return CardState(_agreed(caps), clocks, driver)
    finally:
        _maybe(nvml.nvmlShutdown)


def _agreed(values: list[int | None]) -> int | None:
    """The value that all have; None when they differ, or when there is none."""
    return values[0] if values and len(set(values)) == 1 else None


def _maybe(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception:
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
