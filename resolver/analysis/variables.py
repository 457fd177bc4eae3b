"""The variables of the analysis and their cells: knobs, facts, the user's engine flags, files, the engine, and free values.

A free value stands for what cannot be inverted: arithmetic, composed texts, readings of texts. An atom is a comparison whose
outcome the cells do not decide; both ways are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from resolver.analysis.cells import LARGEST, NULL, OTHER, Cell, Cuts, exact, ranges, text_values, versions
from resolver.engine import Engine
from resolver.knobs import EMPTY, FREE_TYPES, GIVEN, UNSET, read_text
from resolver.model import Fact, Knob

Key = tuple[Any, ...]
"""What names a variable: ("knob", name), ("fact", name), ("known", fact), ("member", fact, literal), ("engine",), ("flag", dest),
("file", term), ("free", ...), ("atom", ...)."""


@dataclass(frozen=True, slots=True)
class KnobCell:
    state: int
    value: Cell


@dataclass(frozen=True, slots=True)
class FlagCell:
    """`last` None: the flag is not there. `every`: which of the tested values are among all that were given."""

    last: Cell | None
    every: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class FileCell:
    kind: str | None
    bytes: Cell = NULL


@dataclass(slots=True)
class Domain:
    """The cells of one variable; the first is the one that a plain request has. `costs`: how unusual each is."""

    key: Key
    cells: list[Any]
    costs: list[int]
    view: Callable[[Any, str], Cell] = field(default=lambda cell, part: cell)

    def values(self, part: str) -> list[Cell]:
        """What each cell says of one part (`last`, `kind`, `bytes`, `exists`, `version`, or "" for the value)."""
        return [self.view(cell, part) for cell in self.cells]


def _cost(cells: list[Any]) -> list[int]:
    return [0, *([1] * (len(cells) - 1))]


def _allowed_text(knob: Knob, text: str) -> bool:
    reading = read_text(knob, text)
    return reading.state == GIVEN and reading.value == text


def knob_domain(knob: Knob, cuts: Cuts) -> Domain:
    """States and values of a knob; texts that the knob does not take are refused everywhere and left out."""
    default = exact(_value(knob, knob.default))
    empty = NULL if knob.empty == "value" else default
    cells = [KnobCell(UNSET, default)]
    cells += [KnobCell(GIVEN, value) for value in _given(knob, cuts)]
    cells.append(KnobCell(EMPTY, empty))
    return Domain(("knob", knob.name), cells, _cost(cells), lambda cell, part: cell.value)


def _value(knob: Knob, text: str | None) -> Any:
    from resolver.knobs import value_of

    return None if text is None else value_of(knob, text)


def _given(knob: Knob, cuts: Cuts) -> list[Cell]:
    if knob.type in ("switch", "zero_one"):
        return [exact("on"), exact("off")]
    if knob.allowed:
        return [exact(_value(knob, text)) for text in knob.allowed]
    if knob.type == "int":
        low = 0 if knob.minimum is None else knob.minimum
        return ranges(max(low, 0), LARGEST if knob.maximum is None else knob.maximum, cuts)
    if knob.type == "tokens":
        return [*ranges(0, LARGEST, cuts), NULL]
    if knob.type == "secret":
        return [NULL]
    if knob.type in FREE_TYPES:
        return [exact(t) for t in cuts.texts() if t] + [OTHER]
    return [exact(t) for t in cuts.texts() if t and _allowed_text(knob, t)] + [OTHER]


def fact_domain(fact: Fact, cuts: Cuts, schema: Mapping[str, Any]) -> Domain:
    """Values of a fact that is not a set; unknown is one of them. `schema`: what machine files say of it, such as the texts it may be."""
    if allowed := [text for text in schema.get("enum", ()) if isinstance(text, str)]:
        cells = [exact(text) for text in allowed]
    elif fact.type == "bool":
        cells = [exact(False), exact(True)]
    elif fact.type == "int":
        cells = ranges(schema.get("minimum", 0), LARGEST, cuts)
    elif fact.type == "version":
        cells = versions(cuts)
    else:
        cells = list(reversed(text_values(cuts)))
    if fact.name not in ("root", "machine"):
        cells = [*cells, NULL]
    return Domain(("fact", fact.name), cells, _cost(cells))


def flag_domain(dest: str, engines: list[Engine], cuts: Cuts, tested: list[Any]) -> Domain:
    """What the user's engine flags may say of one destination; `tested` are the values that rules look for among all."""
    infos = [e.flags[dest] for e in engines if dest in e.flags]
    if all(info["nargs"] == 0 for info in infos):
        lasts = [exact("on")] + ([exact("off")] if any(info["negative"] for info in infos) else [])
    else:
        lasts = [exact(t) for t in dict.fromkeys([*cuts.texts(), *(t for t in tested if isinstance(t, str))])]
        if any(e.is_int(dest) for e in engines if dest in e.flags):
            also = Cuts(dict(cuts.literals) | dict.fromkeys(tested), cuts.borders, cuts.versions)
            lasts += ranges(0, LARGEST, also)
        lasts += [OTHER, NULL]
    cells = [FlagCell(None)]
    for last in lasts:
        own = [t for t in tested if last.shape == "exact" and last.value == t]
        rest = [t for t in tested if t not in own]
        for more in chain.from_iterable(combinations(rest, n) for n in range(len(rest) + 1)):
            cells.append(FlagCell(last, frozenset([*own, *more])))
    costs = [0 if c.last is None else 1 + 3 * (c.last == NULL) + len(c.every) for c in cells]
    return Domain(("flag", dest), cells, costs, lambda cell, part: cell.last or NULL)


def file_domain(key: Key, bytes_cuts: Cuts | None) -> Domain:
    """What may stand at a path; sizes are told apart only where a rule asks for them."""
    sizes = [NULL] if bytes_cuts is None else [*ranges(0, LARGEST, bytes_cuts), NULL]
    cells = [FileCell(None), FileCell("absent")]
    cells += [FileCell(kind, size) for kind in ("file", "dir") for size in sizes]

    def view(cell: FileCell, part: str) -> Cell:
        if part == "bytes":
            return cell.bytes
        if part == "exists":
            return exact(None if cell.kind is None else cell.kind != "absent")
        return exact(cell.kind)

    return Domain(key, cells, _cost(cells), view)


def engine_domain(engines: list[Engine]) -> Domain:
    """The engines that the product knows, each with each set of overlays that fits."""
    return Domain(("engine",), list(engines), _cost(engines), lambda cell, part: exact(cell.version))


@dataclass(frozen=True, slots=True)
class Free:
    """What is known of a value that cannot be inverted: its type, its range, and whether it may be null."""

    type: str
    low: int = -(10**40)
    high: int = 10**40
    nullable: bool = True


def free_domain(key: Key, what: Free, cuts: Cuts) -> Domain:
    """The cells of a free value. One that a request can bring about directly, by a knob's or flag's text, costs less than others."""
    if what.type == "bool":
        cells = [exact(False), exact(True)]
    elif what.type == "int":
        cells = ranges(what.low, what.high, cuts)
    else:
        cells = list(reversed(text_values(cuts)))
    if what.nullable:
        cells = [*cells, NULL]
    given = key[1] == "reading" and getattr(key[3], "key", ("",))[0] in ("knob", "flag")
    return Domain(key, cells, _cost(cells) if given else [2, *([4] * (len(cells) - 1))])


def two_way(key: Key) -> Domain:
    """A variable that is false or true."""
    return Domain(key, [False, True], [0, 1], lambda cell, part: exact(cell))
