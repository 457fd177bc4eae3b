"""Walk a condition over a Resolution: the second, slow opinion beside the compiled rules, and the source of what views say about leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from resolver.compile import helpers
from resolver.conditions import All, Condition, Leaf, Not, Ref, names
from resolver.knobs import EMPTY, GIVEN, UNSET

if TYPE_CHECKING:
    from resolver.resolution import Resolution

_COMPARE = {"<": helpers._lt, "<=": helpers._le, ">": helpers._gt, ">=": helpers._ge}
_STATES = {"given": (GIVEN,), "empty": (EMPTY,), "unset": (UNSET,), "blank": (UNSET, EMPTY)}


def leaf_holds(resolution: Resolution, leaf: Leaf) -> bool:
    """Whether one leaf is true."""
    if leaf.op == "state":
        return resolution.knob_state(leaf.name) in _STATES[leaf.operand]
    value = resolution.lookup(leaf.name)
    if leaf.op == "unknown":
        return value is None
    if leaf.op == "is":
        return _equals(value, leaf.operand)
    right = resolution.lookup(leaf.operand.name) if isinstance(leaf.operand, Ref) else leaf.operand
    return bool(_COMPARE[leaf.op](value, right))


def _equals(value: Any, wanted: tuple[Any, ...]) -> bool:
    if isinstance(value, (tuple, frozenset, set, list)):
        return any(item in value for item in wanted)
    return any(value is item if isinstance(item, bool) or isinstance(value, bool) else value == item for item in wanted)


def holds(resolution: Resolution, condition: Condition) -> bool:
    """Whether the condition is true."""
    if isinstance(condition, Leaf):
        return leaf_holds(resolution, condition)
    if isinstance(condition, Not):
        return not holds(resolution, condition.inner)
    parts = (holds(resolution, part) for part in condition.parts)
    return all(parts) if isinstance(condition, All) else any(parts)


def deciding(resolution: Resolution, condition: Condition, wanted: bool) -> Iterator[Leaf]:
    """The leaves because of which the condition is `wanted`: for an and that fails, the parts that fail, and so on."""
    if isinstance(condition, Leaf):
        yield condition
    elif isinstance(condition, Not):
        yield from deciding(resolution, condition.inner, not wanted)
    else:
        for part in condition.parts:
            if holds(resolution, part) == wanted:
                yield from deciding(resolution, part, wanted)


def unknown_behind(resolution: Resolution, condition: Condition, wanted: bool) -> tuple[str, ...]:
    """The facts that nobody knows, among those because of which the condition is `wanted`."""
    if all(resolution.lookup(name) is not None for name in _facts_read(resolution, condition)):
        return ()
    found = {}
    for leaf in deciding(resolution, condition, wanted):
        for name in [leaf.name, *([leaf.operand.name] if isinstance(leaf.operand, Ref) else [])]:
            meaning = resolution.resolver.scope.meaning(name)
            if meaning and meaning.kind in ("fact", "file") and leaf.op != "state" and resolution.lookup(name) is None:
                found[name] = True
    return tuple(found)


def _facts_read(resolution: Resolution, condition: Condition) -> tuple[str, ...]:
    """The facts that a condition asks about, found once."""
    kept = resolution.resolver.facts_in_condition
    found = kept.get(id(condition))
    if found is None:
        meanings = {name: resolution.resolver.scope.meaning(name) for name in names(condition)}
        asked = tuple(name for name, m in meanings.items() if m and m.kind in ("fact", "file"))
        found = kept[id(condition)] = (condition, asked)
    return found[1]
