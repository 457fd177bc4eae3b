"""Cells: sets of values that no condition of the rules tells apart, and what a condition's leaf says of them.

A value is one of: an exact value (null and texts among them), a range of whole numbers, a gap between two versions, or any other text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from resolver.compile.helpers import _ge, _gt, _le, _lt, _version

LARGEST = 10**18 - 1
"""Knobs and flags are read as numbers up to 18 digits."""

_COMPARE = {"<": _lt, "<=": _le, ">": _gt, ">=": _ge}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Cell:
    """One set of values. `exact`: `value`; `range`: from `low` to `high`; `gap`: versions for which `value` stands; `other`: the other texts."""

    shape: Literal["exact", "range", "gap", "other"]
    value: Any = None
    low: int = 0
    high: int = 0


NULL = Cell("exact", None)
OTHER = Cell("other")


def exact(value: Any) -> Cell:
    return Cell("exact", value)


@dataclass(slots=True)
class Cuts:
    """Where the values of one variable must be told apart."""

    literals: dict[Any, None] = field(default_factory=dict)
    borders: set[int] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    unknown: bool = False

    def add(self, op: str, operand: Any) -> None:
        """Take note of a leaf with a literal on its right side."""
        if op == "is":
            self.literals.update(dict.fromkeys(operand))
        elif op == "unknown":
            self.unknown = True
        elif type(operand) is int:
            self.borders.add(operand if op in ("<", ">=") else operand + 1)
        elif isinstance(operand, str):
            self.versions.add(operand)

    def texts(self) -> list[str]:
        return [v for v in self.literals if isinstance(v, str)]

    def numbers(self) -> list[int]:
        return [v for v in self.literals if type(v) is int]


def ranges(low: int, high: int, cuts: Cuts) -> list[Cell]:
    """The whole numbers from `low` to `high`, cut."""
    borders = {low, high + 1} | {b for b in cuts.borders if low < b <= high}
    for number in cuts.numbers():
        borders |= {b for b in (number, number + 1) if low < b <= high}
    steps = sorted(borders)
    return [exact(a) if a == b - 1 else Cell("range", low=a, high=b - 1) for a, b in pairwise(steps)]


_KNOWN_VERSIONS = ("7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1")


def versions(cuts: Cuts) -> list[Cell]:
    """Versions: those that are named, and the gaps between them (equal texts only are equal, numbers are compared)."""
    named = sorted({t for t in [*cuts.texts(), *cuts.versions] if _version(t)}, key=lambda t: _version(t) or ())
    out = [exact(t) for t in named]
    ends = [None, *named, None]
    for low, high in pairwise(ends):
        known = [v for v in _KNOWN_VERSIONS if _between(v, low, high)]
        made = [f"{low}.1", "0.0.1"] if low else ["0.0.1"]
        tries = known or [t for t in made if _between(t, low, high)]
        if tries:
            out.append(Cell("gap", tries[0]))
    return out + [exact(t) for t in cuts.texts() if not _version(t)]


def _between(text: str, low: str | None, high: str | None) -> bool:
    return (low is None or _gt(text, low)) and (high is None or _lt(text, high))


def is_one_of(cell: Cell, operand: Iterable[Any]) -> bool:
    """Whether the cell's values equal one of the literals, all of which cut cells of their own."""
    if cell.shape != "exact":
        return False
    value = cell.value
    return any(
        value is item if isinstance(item, bool) or isinstance(value, bool) else value == item for item in operand
    )


def compare(op: str, left: Cell, right: Cell) -> bool | None:
    """What the comparison gives for every pair of values of the two cells; None when it depends on which."""
    if left.shape == "exact" and right.shape == "exact":
        return bool(_COMPARE[op](left.value, right.value))
    if right.shape == "exact":
        return _against(op, left, right.value)
    if left.shape == "exact":
        return _against(_TURNED[op], right, left.value)
    if left.shape == "range" and right.shape == "range":
        return _intervals(op, left.low, left.high, right.low, right.high)
    if {left.shape, right.shape} == {"gap"}:
        return None
    return None


def _against(op: str, cell: Cell, value: Any) -> bool | None:
    if value is None or isinstance(value, bool) or not isinstance(value, (int, str)):
        return False
    if cell.shape == "range":
        if type(value) is int:
            return _intervals(op, cell.low, cell.high, value, value)
        return None if isinstance(value, str) and "." in value and _version(value) else False
    if cell.shape == "gap":
        return bool(_COMPARE[op](cell.value, value)) if _version(str(value)) else False
    if isinstance(value, str) and not _version(value):
        return False
    return None


def _intervals(op: str, a: int, b: int, c: int, d: int) -> bool | None:
    """Compare [a, b] with [c, d]."""
    if op == "<":
        return True if b < c else False if a >= d else None
    if op == "<=":
        return True if b <= c else False if a > d else None
    if op == ">":
        return True if a > d else False if b <= c else None
    return True if a >= d else False if b < c else None


def text_values(cuts: Cuts) -> list[Cell]:
    """Texts: those that are named, and any other."""
    return [*(exact(t) for t in cuts.texts()), OTHER]
