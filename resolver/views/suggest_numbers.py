"""Numbers that a refusal computes itself: `use 262144 or less`, `raise KV_MEM to 6123456789`, and the largest number below which it is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from resolver.coercions import tokens
from resolver.conditions import Ref, leaves
from resolver.knobs import Given
from resolver.model import Guard, Knob
from resolver.views.suggest_reach import behind

if TYPE_CHECKING:
    from resolver.resolution import Resolution

_HOLE = re.compile(r"\{([a-z_][a-z0-9_.]*)\}")
_RAISE = re.compile(r"([A-Z][A-Z0-9_]+) to \{([a-z_][a-z0-9_.]*)\}")
_LOWER = re.compile(r"\blower ([A-Z][A-Z0-9_]+)")
_IS = re.compile(r"([A-Z][A-Z0-9_]+)=\{([a-z_][a-z0-9_.]*)\}")
NUMBERS = ("int", "tokens")


def computed(resolution: Resolution, guard: Guard) -> Iterator[tuple[str, str]]:
    """Knobs and the numbers to set them to, as the refusal says; the search tries them like any other value."""
    fix = guard.fix or ""
    raised = _RAISE.findall(fix)
    for variable, hole in raised:
        yield from _number(resolution, variable, hole)
    if not raised:
        for variable, _ in _IS.findall(guard.reason)[:1]:
            for hole in _HOLE.findall(fix):
                yield from _number(resolution, variable, hole)
    yield from _bounds(resolution, guard)
    if any(isinstance(leaf.operand, Ref) for leaf in leaves(guard.when)):
        now = dict(_IS.findall(guard.reason))
        for variable in _LOWER.findall(fix):
            knob = _knob(resolution, variable)
            largest = resolution.lookup(now[variable]) if knob and variable in now else None
            if knob is not None and type(largest) is int:
                found = _largest_silent(resolution, guard, knob, largest)
                if found is not None:
                    yield knob.name, str(found)


def _bounds(resolution: Resolution, guard: Guard) -> Iterator[tuple[str, str]]:
    """For a number that must not be above another: the other, for each given knob that it was read from."""
    for leaf in leaves(guard.when):
        if not isinstance(leaf.operand, Ref) or leaf.op != ">":
            continue
        above, most = resolution.lookup(leaf.name), resolution.lookup(leaf.operand.name)
        for name in behind(resolution, [leaf.name])[0] if type(most) is int and most > 0 else ():
            given = resolution.request.knobs.get(name)
            if given is not None and resolution.rules.knobs[name].type in NUMBERS and tokens(given.text) == above:
                yield name, str(most)


def _knob(resolution: Resolution, variable: str) -> Knob | None:
    knob = resolution.resolver.table.by_variable.get(variable)
    return knob if knob is not None and knob.type in NUMBERS else None


def _number(resolution: Resolution, variable: str, hole: str) -> Iterator[tuple[str, str]]:
    knob = _knob(resolution, variable)
    meaning = resolution.resolver.scope.meaning(hole)
    number = resolution.lookup(hole) if meaning is not None else None
    if knob is not None and type(number) is int and number > 0:
        yield knob.name, str(number)


def _largest_silent(resolution: Resolution, guard: Guard, knob: Knob, refused: int) -> int | None:
    """The largest number below the refused one at which the guard is silent, found by halving; None when it never is."""
    low, high = max(knob.minimum or 0, 1), refused
    if low >= high or _fires(resolution, guard, knob, low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fires(resolution, guard, knob, middle) else (middle, high)
    return low


def _fires(resolution: Resolution, guard: Guard, knob: Knob, number: int) -> bool:
    asked = resolution.request
    if asked.caller is not None:
        asked = replace(asked, environ=asked.caller, caller=None)
    asked = replace(asked, knobs={**asked.knobs, knob.name: Given(str(number), "argument")})
    again = resolution.resolver.resolve(asked, resolution.machine, resolution.engine)
    return any(fired is guard for fired in again.fired)
