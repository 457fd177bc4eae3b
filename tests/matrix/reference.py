"""A second opinion on compiled rules: walk every row and guard, and evaluate every value, without generated code."""

from __future__ import annotations

from typing import Any

from resolver.compile import helpers
from resolver.expressions import Const, Expression, Name, Operation
from resolver.interpret import holds
from resolver.model import Guard
from resolver.resolution import Resolution


def text_of(r: Resolution, name: str) -> Any:
    """What a template puts for a name: the user's own text where there is one."""
    meaning = r.resolver.scope.meaning(name)
    assert meaning is not None
    if meaning.kind == "extra_last":
        return r.passthrough.last_text.get(meaning.base)
    if meaning.kind == "knob":
        return r.state.texts[name]
    if meaning.kind == "setting":
        value, text = r.render_lookup(name)
        return value if text is None else text
    return r.lookup(name)


def value_of(r: Resolution, e: Expression) -> Any:
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Name):
        return r.lookup(e.name)
    if isinstance(e, Operation):
        return operate(e.operator, [value_of(r, a) for a in e.arguments])
    parts = [p if isinstance(p, str) else text_of(r, p.name) for p in e.parts]
    return None if any(p is None for p in parts) else "".join(map(helpers.show, parts))


def operate(operator: str, numbers: list[Any]) -> int | None:
    """Integer arithmetic of the rule language; anything that is no number gives null."""
    if any(type(n) is not int or abs(n) >= 10**40 for n in numbers):
        return None
    a, b = numbers[0], numbers[1]
    if operator in ("//", "ceil_div"):
        if b == 0 or (operator == "ceil_div" and b < 0):
            return None
        exact, rest = divmod(a, b)
        if operator == "ceil_div":
            return exact + (rest > 0)
        return exact + (1 if rest and exact < 0 else 0)
    return {"+": a + b, "-": a - b, "*": a * b, "min": min(numbers), "max": max(numbers)}[operator]


def check_settings(r: Resolution) -> None:
    """Each setting has the value of its first row that holds."""
    for name in r.rules.order:
        rows = r.rules.settings[name].rows
        winner = next((row for row in rows if holds(r, row.when)), None)
        assert r.winning_row(name) is winner, f"{name}: compiled {r.winning_row(name)}, interpreted {winner}"
        wanted = value_of(r, winner.value) if winner else None
        got = r.setting(name)
        assert (type(got), got) == (type(wanted), wanted), f"{name}: compiled {got!r}, interpreted {wanted!r}"


def fires(r: Resolution, guard: Guard) -> bool:
    version = r.facts["engine.version"]
    if guard.since and not helpers._ge(version, guard.since):
        return False
    if guard.until and not helpers._lt(version, guard.until):
        return False
    return holds(r, guard.when)


def check_guards(r: Resolution) -> None:
    """The guards that fired are those whose condition holds."""
    compiled = {guard.id for guard in r.fired}
    interpreted = {guard.id for guard in r.rules.guards.values() if fires(r, guard)}
    assert compiled == interpreted, f"differ on {sorted(compiled ^ interpreted)}"
