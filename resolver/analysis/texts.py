"""Values and texts that stand for a cell: what a witness gives for a knob, a fact or an engine flag."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from resolver.analysis.cells import Cell
from resolver.analysis.variables import FlagCell
from resolver.engine import Engine
from resolver.knobs import GIVEN, read_text
from resolver.model import Knob

if TYPE_CHECKING:
    from resolver.analysis.model import Model

OTHERS = ("other", "0.5", "2", "0.25", "96", "1", "[[1,4,2]]", "/x/other", "-", "none")
"""Texts for `any other text`, tried in turn until one is good for the knob and is not named by a rule."""


READ_AS: dict[str, Callable[[Any], str]] = {
    "thousandths": lambda n: f"{n // 1000}.{n % 1000:03d}",
    "gib_bytes": lambda n: f"{n >> 30}.{-(-(n % (1 << 30)) * 10**10 // (1 << 30)):010d}",
    "number": str,
    "tokens": lambda n: f"0{n}",
    "length": lambda n: "x" * min(n, 1000),
    "loopback": lambda yes: "127.0.0.1" if yes else "0.0.0.0",
    "expandable": lambda yes: f"expandable_segments:{yes}",
    "json_keys": lambda n: json.dumps({f"key{i}": 1 for i in range(min(n, 9))}),
    "json_connector": lambda text: json.dumps({"kv_connector": text}),
    "json_method": lambda text: json.dumps({"method": text}),
    "json_drafts": lambda n: json.dumps({"num_speculative_tokens": n}),
    "json_graph_mode": lambda text: json.dumps({"cudagraph_mode": text}),
    "json_captured": lambda n: json.dumps({"max_cudagraph_capture_size": n}),
    "mentions_positions": lambda yes: '{"max_position_embeddings": 1}' if yes else '{"architectures": ["x"]}',
    "mentions_dflash": lambda yes: "/x/dflash" if yes else "/x/other",
}
"""For each reading a text that reads so: tried first where a witness needs one; what it is worth shows when it is resolved."""


def read_as(reading: str, cell: Cell, pick: Callable[[Cell], int]) -> str | None:
    """A text with a reading in the cell; None when none is known."""
    wanted = value(cell, pick)
    return READ_AS[reading](wanted) if reading in READ_AS and wanted is not None else None


def first(cell: Cell) -> int:
    """The smallest number of a range, but not 0 where there is a larger one."""
    return max(cell.low, min(1, cell.high))


def chooser(chance: random.Random) -> Callable[[Cell], int]:
    """Numbers from the ends, the middle, and powers of two of a range."""

    def pick(cell: Cell) -> int:
        low, high = cell.low, cell.high
        near = min(high, low + 64)
        power = 1 << chance.randrange(0, 44)
        return chance.choice([low, near, high, chance.randint(low, near), min(max(power, low), high)])

    return pick


def value(cell: Cell, pick: Callable[[Cell], int]) -> Any:
    """A value of the cell."""
    return pick(cell) if cell.shape == "range" else "other" if cell.shape == "other" else cell.value


def knob(knob: Knob, cell: Cell, pick: Callable[[Cell], int]) -> str | None:
    """A text that the knob reads as a value of the cell; None when there is none."""
    if cell.shape == "range":
        return str(pick(cell))
    if knob.secret:
        return "not-a-real-key"
    if knob.type in ("switch", "zero_one"):
        return "1" if cell.value == "on" else "0"
    if cell.shape == "exact":
        return "64k" if cell.value is None else str(cell.value)
    if knob.type == "words":
        return " "
    tries = ("/x/other",) if knob.type == "path" else OTHERS
    return next((t for t in tries if read_text(knob, t).state == GIVEN), None)


def fact(model: Model, name: str, cell: Cell, pick: Callable[[Cell], int]) -> Any:
    """A value of a fact; texts are taken from the machines that ship, where one fits."""
    if name == "root":
        return None
    if cell.shape == "other":
        named = {c.value for c in model.domains[model.index["fact", name]].cells if c.shape == "exact"}
        return next((v for v in model.shipped_values(name) if v not in named), "other")
    return value(cell, pick)


def words(
    engine: Engine, dest: str, cell: FlagCell, pick: Callable[[Cell], int], wanted: str | None = None
) -> list[str]:
    """Engine flags as a user types them: first the other values, then the one that counts (`wanted`, where it may be any text)."""
    info = engine.flags[dest]
    spelling = next((s for s in info["spellings"] if s.startswith("--")), None) or info["spellings"][0]
    last = cell.last
    assert last is not None
    if info["nargs"] == 0:
        off = next((s for s in info["negative"] if s.startswith("--")), spelling)
        others = [spelling if item == "on" else off for item in sorted(map(str, cell.every)) if item != last.value]
        return [*others, off if last.value == "off" else spelling]
    out = []
    for item in sorted(cell.every, key=str):
        if item != last.value:
            out += [spelling, str(item)]
    if last.shape == "exact" and last.value is None:
        return [*out, spelling]
    if last.shape == "other" and wanted is not None:
        return [*out, spelling, wanted]
    return [*out, spelling, str(pick(last)) if last.shape == "range" else _text(info, cell)]


def _text(info: Any, cell: FlagCell) -> str:
    assert cell.last is not None
    if cell.last.shape == "exact":
        return str(cell.last.value)
    if info["choices"]:
        return next((str(c) for c in info["choices"] if c not in cell.every), "other")
    kind = str(info["type"])
    if "float" in kind:
        return "0.5"
    return "auto" if "auto" in kind else "{}" if "json" in kind or kind in ("dataclass", "mapping") else "other"
