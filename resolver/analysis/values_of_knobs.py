"""Values of knobs that every request with them is refused for, and defaults that no request can have."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.analysis import claims
from resolver.analysis.finding import Finding
from resolver.analysis.model import Model
from resolver.analysis.replay import replay
from resolver.analysis.texts import first
from resolver.analysis.texts import knob as knob_text
from resolver.knobs import EMPTY, UNSET
from resolver.model import Knob


def refused_values(model: Model) -> Iterator[Finding]:
    """A value, or the default, with which nothing is ever launched."""
    for knob in model.rules.knobs.values():
        n = model.index.get(("knob", knob.name))
        if n is None:
            continue
        for i, cell in enumerate(model.domains[n].cells):
            node = model.space.both(model.universe, model.space.cells(n, [i]))
            if model.accepted(node) is not None:
                continue
            witness = replay(model, node, claims.refused, "it is refused")
            names = ", ".join(sorted(_refusing(model, node)))
            if cell.state == UNSET:
                message = f"{knob.env} unset is refused in every request, by {names}"
                yield Finding(
                    "unreachable-default",
                    knob.name,
                    message,
                    knob.position,
                    "give a default that is accepted somewhere",
                    witness,
                )
            else:
                shown = '""' if cell.state == EMPTY else _shown(knob, cell)
                message = f"{knob.env}={shown} is refused in every request, by {names}"
                yield Finding(
                    "refused-value",
                    f"{knob.name}={shown}",
                    message,
                    knob.position,
                    "remove the value, or let a rule accept it somewhere",
                    witness,
                )


def _shown(knob: Knob, cell: object) -> str:
    from resolver.analysis.variables import KnobCell

    assert isinstance(cell, KnobCell)
    if cell.value.shape == "range":
        return f"{cell.value.low}..{cell.value.high}"
    return (
        str(cell.value.value)
        if cell.value.shape == "exact" and cell.value.value
        else knob_text(knob, cell.value, first) or "?"
    )


def _refusing(model: Model, node: int) -> set[str]:
    """Rules that together refuse all of the set: each is needed to go on from the plainest member of what is left."""
    found: set[str] = set()
    while (cells := model.space.cheapest(node, model.costs)) is not None:
        whole = model.whole(cells)
        hit = [
            (name, part)
            for name, parts in model.refusals.items()
            for part in parts
            if model.space.contains(part, whole)
        ]
        if not hit:
            return found
        found.add(hit[0][0])
        node = model.space.minus(node, hit[0][1])
    return found
