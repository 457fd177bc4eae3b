"""Arms: two that one request asks for by name, and cells of the matrix that no arm serves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from resolver.analysis import claims
from resolver.analysis.diagram import EMPTY, FULL
from resolver.analysis.finding import Finding
from resolver.analysis.model import Model
from resolver.analysis.replay import replay
from resolver.conditions import Leaf
from resolver.knobs import UNSET

CELL = ("ctx", "spec")
CAPABILITY = "gpu.capability"


def overlaps(model: Model) -> Iterator[Finding]:
    """Pairs of arms that one accepted request asks for by name: the second is passed over in silence."""
    arms = [a for a in model.rules.arms.values() if a.chosen_by is not None]
    asked = {a.name: model.space.both(model.universe, model.condition(a.when)) for a in arms}
    for arm in arms:
        assert arm.chosen_by is not None
        asked[arm.name] = model.space.both(asked[arm.name], model.condition(arm.chosen_by))
    for i, first in enumerate(arms):
        for second in arms[i + 1 :]:
            both = model.space.both(asked[first.name], asked[second.name])
            found = model.accepted(both) if both != EMPTY else None
            if found is None:
                continue
            here = model.space.both(both, model.around(found))
            witness = replay(model, here, claims.asks_for(first, second), "it asks for both arms by name")
            if witness:
                message = (
                    f"one request asks for both {first.name} and {second.name} by name, and gets the first in silence"
                )
                fix = "let one chosen_by exclude the other, or refuse the combination with a guard"
                yield Finding("overlap", second.name, message, second.position, fix, witness, others=(first.position,))


def gaps(model: Model) -> Iterator[Finding]:
    """Cells that no arm serves when nothing but CTX and SPEC is asked. A capability counts when an arm names it; unknown counts."""
    rules = model.rules
    axes = [name for name in CELL if name in rules.knobs and rules.knobs[name].allowed]
    if not rules.arms or not axes:
        return
    plain = FULL
    for n, domain in enumerate(model.domains):
        if domain.key[0] == "knob" and domain.key[1] not in axes:
            unset = (i for i, cell in enumerate(domain.cells) if cell.state == UNSET)
            plain = model.space.both(plain, model.space.cells(n, unset))
    served = model.space.both(plain, model.space.minus(model.universe, model.no_arm))
    named = dict.fromkeys(c for arm in rules.arms.values() for c in arm.capabilities)
    capabilities: list[str | None] = [
        *named,
        *(["unknown"] if CAPABILITY in rules.facts and "unknown" not in named else []),
    ]
    for values in product(*(rules.knobs[name].allowed for name in axes)):
        for capability in capabilities or [None]:
            node = model.universe
            for name, value in zip(axes, values, strict=True):
                node = model.space.both(node, model.condition(Leaf(name, "is", (value,), ())))
            if capability is not None:
                leaf = (
                    Leaf(CAPABILITY, "unknown", None, ())
                    if capability == "unknown"
                    else Leaf(CAPABILITY, "is", (capability,), ())
                )
                node = model.space.both(node, model.condition(leaf))
            if node == EMPTY or model.space.both(node, served) != EMPTY:
                continue
            here = model.space.both(model.space.both(node, plain), model.space.both(model.universe, model.no_arm))
            witness = replay(model, here, lambda r: r.setting("arm") is None, "no arm is taken")
            cell = " ".join(f"{rules.knobs[name].env}={value}" for name, value in zip(axes, values, strict=True))
            where = "" if capability is None else f" on compute capability {capability}"
            rule = "/".join([*values, *([capability] if capability else [])])
            yield Finding(
                "gap",
                rule,
                f"no arm serves {cell}{where}",
                rules.settings["arm"].position,
                "add an arm, or widen one",
                witness,
            )
