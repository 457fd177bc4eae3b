"""What rules a goal out by itself: a condition that reads nothing but what is held, and is as it is whatever everything else is."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from resolver import conditions
from resolver.conditions import All, Condition, Leaf
from resolver.interpret import holds

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.views.whynot import Goal


def plainly_ruled_out(resolution: Resolution, goal: Goal, held: Set[tuple[str, str]]) -> bool:
    """Whether a held text cannot be used, a part of the arm's own condition fails, or a guard refuses, and all that it reads is held."""
    if any(kind == "knob" and resolution.readings[name].problem for kind, name in held):
        return True
    arm = resolution.rules.arms.get(goal.arm or "")
    for part in _parts(arm.when) if arm else ():
        if _rests_on(resolution, part, held) and not holds(resolution, part):
            return True
    return any(
        guard.severity == "refuse"
        and not (guard.since or guard.until)
        and guard.arm is None
        and _rests_on(resolution, guard.when, held)
        for guard in resolution.fired
    )


def _parts(condition: Condition) -> Iterator[Condition]:
    """Conditions that must all hold."""
    if isinstance(condition, All):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition


def _rests_on(resolution: Resolution, condition: Condition, held: Set[tuple[str, str]]) -> bool:
    return all(_is_held(resolution, leaf, held) for leaf in conditions.leaves(condition))


def _is_held(resolution: Resolution, leaf: Leaf, held: Set[tuple[str, str]]) -> bool:
    if isinstance(leaf.operand, conditions.Ref):
        return False
    meaning = resolution.resolver.scope.meaning(leaf.name)
    if meaning is None:
        return False
    if meaning.kind in ("knob", "reading") and meaning.base in resolution.rules.knobs:
        return ("knob", meaning.base) in held
    if leaf.name == "installed":
        return all(("plugin", str(item)) in held for item in leaf.operand or ("",))
    if meaning.kind == "fact":
        return ("fact", meaning.base) in held
    return meaning.kind == "extra_last" and ("flag", meaning.base) in held
