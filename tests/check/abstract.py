"""The other direction of the analyser's model: from a resolution that happened to the cell of every variable. Written apart from it."""

from __future__ import annotations

from typing import Any

from resolver.analysis.cells import Cell
from resolver.analysis.model import Model
from resolver.analysis.terms import Fixed, Term, evaluate
from resolver.compile.helpers import _gt, _lt
from resolver.resolution import Resolution


def fits(cell: Cell, value: Any, others: list[Cell]) -> bool:
    """Whether the value is in the cell; `others` are all cells of the variable."""
    if cell.shape == "exact":
        return type(cell.value) is type(value) and cell.value == value
    named = [c.value for c in others if c.shape == "exact"]
    if value in named:
        return False
    if cell.shape == "range":
        return type(value) is int and cell.low <= value <= cell.high
    if not isinstance(value, str):
        return False
    if cell.shape == "other":
        return True
    below = all(_lt(n, value) == _lt(n, cell.value) for n in named if isinstance(n, str))
    return below and all(_gt(n, value) == _gt(n, cell.value) for n in named if isinstance(n, str))


def only(found: list[int], what: object) -> int:
    assert len(found) == 1, (what, found)
    return found[0]


def path_of(resolution: Resolution, term: Term) -> str | None:
    """The path that a term stands for in this resolution."""
    if isinstance(term, Fixed):
        return term.value if isinstance(term.value, str) else None
    if term.key[0] == "free" and term.key[1] == "value":
        expression = term.key[2]
        from resolver.expressions import names

        return evaluate(expression, {n: resolution.lookup(n) for n in names(expression)})
    if term.key[0] == "knob":
        return resolution.lookup(term.key[1])
    if term.key[0] == "flag":
        return resolution.passthrough.last.get(term.key[1])
    return resolution.facts.get(term.key[1])


def cells(model: Model, resolution: Resolution, wanted: set[int] | None = None) -> list[int | None]:
    """The cell of every variable; None for free values and undecided comparisons, and for those that are not wanted."""
    out: list[int | None] = []
    for n, domain in enumerate(model.domains):
        kind, *rest = domain.key
        if kind in ("free", "atom") or (wanted is not None and n not in wanted):
            out.append(None)
            continue
        found = []
        for i, cell in enumerate(domain.cells):
            if kind == "knob":
                values = [c.value for c in domain.cells if c.state == cell.state]
                here = cell.state == resolution.knob_state(rest[0])
                here = here and fits(cell.value, resolution.lookup(rest[0]), values)
            elif kind == "fact":
                here = fits(cell, resolution.facts.get(rest[0]), domain.cells)
            elif kind == "known":
                here = cell == (resolution.facts.get(rest[0]) is None)
            elif kind == "member":
                here = cell == (rest[1] in (resolution.facts.get(rest[0]) or ()))
            elif kind == "engine":
                here = cell.version == resolution.engine.version and set(cell.overlays) == set(
                    resolution.engine.overlays
                )
            elif kind == "flag":
                here = _flag(cell, domain.cells, resolution, rest[0])
            else:
                path = path_of(resolution, rest[0])
                info = resolution.resolver.look(resolution.machine)(path)
                same = [c.bytes for c in domain.cells if c.kind == cell.kind]
                size = info.bytes if any(c.shape != "exact" for c in same) else None
                here = cell.kind == info.kind and fits(cell.bytes, size, same)
            if here:
                found.append(i)
        out.append(only(found, (domain.key, resolution.facts if kind == "fact" else resolution.passthrough)))
    return out


def _flag(cell: Any, all_cells: list[Any], resolution: Resolution, dest: str) -> bool:
    there = resolution.passthrough.every.get(dest)
    if there is None or cell.last is None:
        return there is None and cell.last is None
    tested = {t for c in all_cells for t in c.every}
    lasts = list({id(c.last): c.last for c in all_cells if c.last is not None}.values())
    return fits(cell.last, resolution.passthrough.last.get(dest), lasts) and cell.every == tested & set(there)


def outcomes(model: Model, node: int, assignment: list[int | None]) -> set[bool]:
    """Whether the set holds the assignment: both answers when it depends on what the assignment leaves open."""
    found: set[bool] = set()
    todo, seen = [node], set()
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        if n <= 1:
            found.add(n == 1)
            continue
        cell = assignment[model.space.variable[n]]
        children = model.space.children[n]
        todo += children if cell is None else [children[cell]]
    return found
