"""What is the card called in figures, and on what kind of system does it run?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_MAKER = re.compile(r"^(NVIDIA|AMD)\s+|\bGeForce\s+|\s+Laptop GPU$")
_CPU_NOISE = re.compile(r"\((R|TM)\)|\s+CPU\b|\s+@.*$|\s+\d+-Core Processor$")


def hardware_name(facts: Mapping[str, Any], gpus: int | None, known: Iterable[str] = ()) -> str | None:
    """The name that figures have for the hardware: `RTX 3090 24 GB`, `2x RTX 3080 20 GB`, `AMD EPYC 9B14 (2 cores)`.

    Args:
        facts: facts of the machine by dotted name.
        gpus: how many cards the launch uses.
        known: names in use; one of the same card and nearly the same memory is taken as it is.
    """
    if facts.get("device") == "cpu":
        return cpu_name()
    name, mib = facts.get("gpu.name"), facts.get("gpu.vram_mib")
    if not isinstance(name, str):
        return None
    model = _MAKER.sub("", name).strip()
    gib = round(mib / 1024) if isinstance(mib, int) else None
    many = f"{gpus}x " if gpus is not None and gpus > 1 else ""
    made = f"{many}{model}" + (f" {gib} GB" if gib else "")
    return next((other for other in known if other.casefold() == made.casefold()), made)


def cpu_name(system: Path = Path("/")) -> str | None:
    """The processor and how many of its cores this process may use; None when the system does not say."""
    try:
        text = (system / "proc/cpuinfo").read_text("utf-8", errors="replace")
        cores = len(os.sched_getaffinity(0))
    except (OSError, AttributeError):
        return None
    found = re.search(r"(?m)^model name\s*:\s*(.+)$", text)
    if found is None:
        return None
    return f"{' '.join(_CPU_NOISE.sub('', found[1]).split())} ({cores} core{'s' if cores != 1 else ''})"


def capability_of(facts: Mapping[str, Any]) -> str | None:
    """The compute capability as text; `none` on a CPU, None when unknown."""
    if facts.get("device") == "cpu":
        return "none"
    found = facts.get("gpu.capability")
    return None if found is None else ".".join(map(str, found)) if isinstance(found, tuple) else str(found)


def platform_of(facts: Mapping[str, Any]) -> str | None:
    """wsl2, docker or native; None when nobody could find out."""
    if facts.get("wsl") is True:
        return "wsl2"
    if facts.get("container") is True:
        return "docker"
    return "native" if facts.get("wsl") is False and facts.get("container") is False else None
