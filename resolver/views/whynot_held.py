"""What is held as a set of the analysis: every launch in which these assumptions are as they are in the launch at hand, and perhaps more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from resolver import coercions
from resolver.analysis.cells import NULL, Cell, compare, exact, is_one_of
from resolver.analysis.diagram import FULL
from resolver.analysis.terms import Base, Fixed, Term
from resolver.analysis.variables import FileCell, FlagCell, Key, KnobCell
from resolver.engine import Engine
from resolver.knobs import GIVEN
from resolver.views.whynot_points import Assumption, here

if TYPE_CHECKING:
    from resolver.analysis.model import Model
    from resolver.facts import FileInfo
    from resolver.resolution import Resolution

SETS = ("installed",)
"""The sets among a machine's facts."""


def fitting(cells: Sequence[Cell], value: Any) -> set[int]:
    """The cells that may hold the value: the one that is exactly it, or else all that are not told apart from it; never none."""
    same = {i for i, cell in enumerate(cells) if is_one_of(cell, (value,))}
    if same:
        return same
    named = [cell for cell in cells if cell.shape == "exact" and isinstance(cell.value, str)]
    return {i for i, cell in enumerate(cells) if _may_hold(cell, value, named)} or set(range(len(cells)))


def _may_hold(cell: Cell, value: Any, named: Sequence[Cell]) -> bool:
    if cell.shape == "range":
        return type(value) is int and cell.low <= value <= cell.high
    if not isinstance(value, str):
        return False
    if cell.shape == "gap":  # on the same side of every version that is named
        return all(compare("<", cell, n) == compare("<", exact(value), n) for n in named)
    return cell.shape == "other"


class Held:
    """The sets of what is held. `assumed`: all assumptions; what is not among them stays as it is in the launch at hand."""

    def __init__(self, model: Model, resolution: Resolution, assumed: Sequence[Assumption]) -> None:
        self.model = model
        self.resolution = resolution
        self.mine = here(resolution).request
        self.assumed = assumed
        self.plugins = [a.name for a in assumed if a.kind == "plugin"]
        self.free_facts = {a.name for a in assumed if a.kind == "fact"}

    def pins(self, fixed: Sequence[Assumption]) -> dict[int, set[int]]:
        """For each variable that is held, the cells that it may be in."""
        found: dict[int, set[int]] = {}
        for key, n in list(self.model.index.items()):
            cells = self._cells(key, self.model.domains[n].cells, {(a.kind, a.name) for a in fixed})
            if cells is not None:
                found[n] = cells
        return found

    def node(self, fixed: Sequence[Assumption], pins: dict[int, set[int]]) -> int:
        """The set of all launches with the pinned cells, on machines where an overlay that a plugin brings is there with the plugin."""
        space = self.model.space
        node = FULL
        for n in sorted(pins, reverse=True):
            node = space.both(space.cells(n, pins[n]), node)
        node = space.both(node, self._only_brought_overlays(any(a.kind == "engine" for a in fixed)))
        return space.both(node, self.model.universe)

    # one variable

    def _cells(self, key: Key, cells: Sequence[Any], held: set[tuple[str, str]]) -> set[int] | None:
        kind = key[0]
        if kind == "knob":
            return self._knob(key[1], cells) if self.is_held(held, key[1]) else None
        if kind == "flag":
            return self._flag(key[1], cells) if ("flag", key[1]) in held else None
        if kind == "fact":
            if key[1] in self.free_facts and ("fact", key[1]) not in held:
                return None
            return fitting(cells, self.resolution.facts.get(key[1]))
        if kind in ("member", "known") and key[1] in SETS:
            return self._set(key, held)
        if kind == "engine":
            return {i for i, e in enumerate(cells) if self._extends(e)} if ("engine", "engine") in held else None
        if kind == "file" or (kind == "free" and key[1] == "content"):
            return self._file(key, cells, held)
        if kind == "free" and key[1] == "reading" and isinstance(key[3], Base):
            return self._reading(key[2], key[3], cells, held)
        return None

    def is_held(self, held: set[tuple[str, str]], knob: str) -> bool:
        """Whether the knob stays as it is: it is held, or it is a secret that was given, which is never given up."""
        return knob in self.mine.knobs and (("knob", knob) in held or self.model.rules.knobs[knob].secret)

    def _knob(self, name: str, cells: Sequence[KnobCell]) -> set[int] | None:
        reading = self.resolution.readings[name]
        if reading.problem:
            return set()
        alike = [i for i, cell in enumerate(cells) if cell.state == reading.state]
        if reading.state != GIVEN:
            return set(alike)
        return {alike[j] for j in fitting([cells[i].value for i in alike], reading.value)}

    def _flag(self, dest: str, cells: Sequence[FlagCell]) -> set[int]:
        passed = self.resolution.passthrough
        every = passed.every.get(dest, ())
        given = [i for i, cell in enumerate(cells) if cell.last is not None]
        tested = {item for i in given for item in cells[i].every}
        wanted = {item for item in tested if item in every}
        alike = [i for i in given if cells[i].every == wanted]
        return {alike[j] for j in fitting([cells[i].last or NULL for i in alike], passed.last.get(dest))}

    def _set(self, key: Key, held: set[tuple[str, str]]) -> set[int] | None:
        there = self.resolution.facts.get(key[1])
        kept = [p for p in self.plugins if ("plugin", p) in held]
        if key[0] == "known":
            return {int(there is None and len(kept) == len(self.plugins))}
        if key[2] in self.plugins and key[2] not in kept:
            return None
        return {int(key[2] in (there or ()))}

    def _file(self, key: Key, cells: Sequence[Any], held: set[tuple[str, str]]) -> set[int] | None:
        term = key[1] if key[0] == "file" else key[3]
        path = self._path(term, held)
        if path is None or not self._files_held(held):
            return None
        info = self.resolution.resolver.look(self.resolution.machine)(path)
        if key[0] == "free":
            return fitting(cells, getattr(info, key[2]))
        return {i for i, cell in enumerate(cells) if _is_file(cell, info)} or None

    def _files_held(self, held: set[tuple[str, str]]) -> bool:
        return ("files", "files") in held

    def _path(self, term: Term, held: set[tuple[str, str]]) -> str | None:
        if isinstance(term, Fixed):
            return term.value if isinstance(term.value, str) else None
        if term.key[0] == "knob" and self.is_held(held, term.key[1]):
            value = self.resolution.readings[term.key[1]].value
            return value if isinstance(value, str) else None
        return None

    def _reading(self, part: str, term: Base, cells: Sequence[Cell], held: set[tuple[str, str]]) -> set[int] | None:
        text = None
        if term.key[0] == "knob" and self.is_held(held, term.key[1]):
            reading = self.resolution.readings[term.key[1]]
            text = reading.text if reading.state == GIVEN and reading.text == str(reading.value) else None
        elif term.key[0] == "flag" and ("flag", term.key[1]) in held:
            text = self.resolution.passthrough.last.get(term.key[1])
        return fitting(cells, coercions.read(part, text)) if isinstance(text, str) else None

    # the engine

    def _extends(self, engine: Engine) -> bool:
        mine = self.resolution.engine
        return engine.version == mine.version and set(mine.overlays) <= set(engine.overlays)

    def _only_brought_overlays(self, held: bool) -> int:
        """Where no overlay that plugins bring is there without one of them; where the engine is held, no other one either."""
        model, space = self.model, self.model.space
        out = FULL
        brings: dict[str, list[str]] = {}
        for plugin, (overlay, _) in model.rules.plugin_overlays.items():
            brings.setdefault(overlay, []).append(plugin)
        known = {o for e in model.engines for o in e.overlays} if held else set(brings)
        overlays = known - set(self.resolution.engine.overlays)
        for overlay in sorted(overlays):
            there = model.engines_with(lambda e, o=overlay: o in e.overlays)
            by = space.union(
                space.minus(
                    space.cells(model.index["member", "installed", plugin], [1]),
                    space.cells(model.index["known", "installed"], [1]),
                )
                for plugin in brings.get(overlay, ())
                if ("member", "installed", plugin) in model.index
            )
            out = space.both(out, space.either(space.other(there), by))
        return out


def _is_file(cell: FileCell, info: FileInfo) -> bool:
    if cell.kind != info.kind:
        return False
    if info.kind in (None, "absent") or cell.bytes == NULL:
        return True
    return is_one_of(cell.bytes, (info.bytes,)) or _may_hold(cell.bytes, info.bytes, ())
