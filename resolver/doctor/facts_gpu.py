"""What the driver tells beside the probe's facts: who holds memory, whether a display is attached, the power cap, the links."""

from __future__ import annotations

import csv
from typing import Any

from resolver.serving.probes.basis import Unknown, World, output
from resolver.serving.probes.smi import WSL_PLACE


def _smi(world: World, *words: str) -> str:
    program = world.program("nvidia-smi", WSL_PLACE)
    if program is None:
        raise Unknown("nvidia-smi is not on PATH")
    return output(world, [program, *words])


def _rows(world: World, query: str) -> list[list[str]]:
    text = _smi(world, query, "--format=csv,noheader,nounits")
    return [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]


def processes(world: World) -> list[tuple[int, str, int]]:
    """Who holds memory of a card: process id, the program's own name, MiB."""
    found = []
    for row in _rows(world, "--query-compute-apps=pid,process_name,used_memory"):
        if len(row) == 3 and row[0].isdigit():
            mib = int(row[2]) if row[2].isdigit() else 0
            found.append((int(row[0]), row[1].replace("\\", "/").rsplit("/", 1)[-1][:40], mib))
    return found


def display(world: World) -> bool:
    """Whether a display is active on a card."""
    return any(row[0] == "Enabled" for row in _rows(world, "--query-gpu=display_active"))


def power(world: World) -> list[tuple[float, float]]:
    """Of each card: the power limit in force and the default one, in watts; cards that do not tell are left out."""
    found = []
    for row in _rows(world, "--query-gpu=power.limit,power.default_limit"):
        try:
            found.append((float(row[0]), float(row[1])))
        except (ValueError, IndexError):
            continue
    return found


def names(world: World) -> list[str]:
    """The names of all cards, in the driver's order."""
    return [row[0] for row in _rows(world, "--query-gpu=name")]


def far_links(world: World) -> list[str]:
    """Pairs of cards whose traffic crosses root ports or sockets (PHB, NODE, SYS in the driver's table)."""
    lines = [line.split() for line in _smi(world, "topo", "-m").splitlines()]
    head = next((words for words in lines if words and words[0] == "GPU0"), None)
    if head is None:
        raise Unknown("nvidia-smi printed no table of links")
    cards = [word for word in head if word.startswith("GPU") and word[3:].isdigit()]
    found = []
    for words in lines:
        if words and words[0] in cards and words is not head:
            for other, link in zip(cards, words[1:], strict=False):
                if link in ("PHB", "NODE", "SYS") and cards.index(words[0]) < cards.index(other):
                    found.append(f"{words[0]}-{other} {link}")
    return found


QUESTIONS: dict[str, Any] = {
    "gpu.processes": processes,
    "gpu.display": display,
    "gpu.power": power,
    "gpu.names": names,
    "gpu.far_links": far_links,
}
