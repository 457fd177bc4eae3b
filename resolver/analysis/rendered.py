"""Where the launcher itself sets an engine flag: what `extra.shadowed` compares the user's flags with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.analysis.diagram import EMPTY
from resolver.analysis.terms import Base, Fixed, Term
from resolver.compile.helpers import show
from resolver.model import Flag, JsonFlag

if TYPE_CHECKING:
    from resolver.analysis.cells import Cell
    from resolver.analysis.model import Model


def set_by_launcher(model: Model, dest: str) -> int:
    """The requests in which the launcher's own argv has a flag of this destination."""
    found = []
    flags = {flag for e in model.engines for flag, to in model.resolver.plan(e).spelled.items() if to == dest}
    for entry in model.rules.argv:
        if not (isinstance(entry, (Flag, JsonFlag)) and ({entry.flag, getattr(entry, "off", None)} & flags)):
            continue
        if isinstance(entry, JsonFlag):
            there = _engines(model, entry.flag, dest)
            gate = (
                model.space.union(model.space.minus(w, model.nulls(t)) for t, w in model.values(entry.gate))
                if entry.gate
                else 1
            )
            found.append(model.space.both(there, gate))
        else:
            for term, where in model.values(entry.source):
                found += [
                    model.space.both(where, _cell(model, entry, dest, term, c, n)) for c, n in model.cells_of(term)
                ]
    return model.space.union(found)


def _engines(model: Model, flag: str, dest: str) -> int:
    return model.engines_with(lambda e: model.resolver.plan(e).spelled.get(flag) == dest)


def _cell(model: Model, entry: Flag, dest: str, term: Term, cell: Cell, where: int) -> int:
    """The part of one cell of the source in which the flag is written."""
    flag = entry.flag
    if cell.shape == "exact":
        if not show(cell.value):
            return EMPTY
        if entry.bare and cell.value not in ("on", True):
            if entry.off is None:
                return EMPTY
            flag = entry.off
    there = model.space.both(where, _engines(model, flag, dest))
    if entry.bare:
        return there
    plans = model.resolver.plan
    if cell.shape == "exact":
        shown = show(cell.value)
        taken = model.engines_with(lambda e: flag not in plans(e).allowed or shown in plans(e).allowed[flag])
        return model.space.both(there, taken)
    free = model.engines_with(lambda e: flag not in plans(e).allowed)
    assert isinstance(term, Base)
    atom = model.space.cells(model.variable(("atom", "choice", term, Fixed(flag))), [1])
    return model.space.both(there, model.space.either(free, atom))
