"""Parts of conditions that never hold in rules that otherwise work: a value that a name never has, a comparison that is never true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from resolver.analysis import claims
from resolver.analysis.diagram import EMPTY
from resolver.analysis.finding import Finding
from resolver.analysis.model import Model
from resolver.analysis.replay import Claim, replay
from resolver.conditions import Condition, Leaf, leaves
from resolver.diagnostics import Position
from resolver.wording import leaf_text


def dead_parts(model: Model) -> Iterator[Finding]:
    """Each leaf, and each value of a leaf that names several, which holds in no request."""
    for guard in model.rules.guards.values():
        parts = model.guard_parts(guard.id)
        if parts:
            yield from _of(model, guard.id, guard.when, guard.position, parts, claims.fires(guard.id))
    for name, setting in model.rules.settings.items():
        wins, _ = model.rows(name)
        for i, (row, win) in enumerate(zip(setting.rows, wins, strict=True)):
            if win != EMPTY:
                yield from _of(model, f"{name}[{i + 1}]", row.when, row.position, (win,), claims.wins(name, i))


def _of(
    model: Model, rule: str, condition: Condition, position: Position, nodes: tuple[int, ...], claim: Claim
) -> Iterator[Finding]:
    for leaf in leaves(condition):
        for one in _single(leaf):
            if model.space.both(model.universe, model.condition(one)) != EMPTY:
                continue
            witness = next(
                (w for n in nodes if (w := replay(model, n, claim, "the rule holds without this part"))), None
            )
            message = f"{rule}: the part `{leaf_text(one)}` never holds"
            yield Finding("dead-part", rule, message, position, "correct the value, or remove the part", witness)


def _single(leaf: Leaf) -> Iterator[Leaf]:
    """The leaf, value by value where it has several."""
    if leaf.op != "is":
        yield leaf
    else:
        for item in leaf.operand:
            yield replace(leaf, operand=(item,))
