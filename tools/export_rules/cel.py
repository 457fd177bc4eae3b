"""The guards as expressions of CEL (Common Expression Language), for a second engine's opinion. Nothing of the compiled rules is used.

Variables are flat: `v_ctx` (a knob's value), `n_ctx` (its state), `s_arm` (a setting), `f_wsl` (a fact), `x_port` (the last value of an
engine flag the user typed), `a_dtype` (all its values), `r_...` (a reading), `p_...` (a property of a file), `c_...` (a flag's choices).
A name that is compared has a partner with `_num` at its end: its value as a number that sorts like it, null where it has none.
"""

from __future__ import annotations

import json
import re
from typing import Any

from resolver.compile.codegen import STATE_NUMBER
from resolver.compile.helpers import _version
from resolver.conditions import All, Condition, Leaf, Not, Ref
from resolver.model import Guard, Rules
from resolver.names import Scope
from resolver.resolution import Resolution

_LETTER = {
    "knob": "v", "setting": "s", "fact": "f", "extra_last": "x", "extra_any": "a", "extra_set": "e", "reading": "r", "file": "p", "choices": "c",
}  # fmt: skip
_STEP = 10**6


class Untranslatable(Exception):
    """A condition that the export cannot say in CEL."""


def number(value: Any) -> int | None:
    """A number that sorts as the value does among values of its kind: whole numbers as they are, versions as packed digits."""
    if type(value) is int:
        return value
    parts = _version(value) if isinstance(value, str) and "." in value else None
    if parts is None or len(parts) > 3 or max(parts) >= _STEP:
        return None
    return sum(int(p) * int(_STEP ** (2 - i)) for i, p in enumerate(parts))


class Export:
    """Guards as CEL text, and the variables that they need for one resolution."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules = rules
        self.scope = scope
        self.names: dict[str, str] = {}
        self.numbers: set[str] = set()
        self.states: set[str] = set()
        self.guards = {guard.id: self.guard(guard) for guard in rules.guards.values()}

    def variable(self, name: str) -> str:
        """The CEL variable of a name of the rules."""
        meaning = self.scope.meaning(name)
        if meaning is None:
            raise Untranslatable(name)
        word = re.sub(r"[^A-Za-z0-9]", "_", name)
        self.names[name] = f"{_LETTER[meaning.kind]}_{word}"
        return self.names[name]

    def is_set(self, name: str) -> bool:
        meaning = self.scope.meaning(name)
        assert meaning is not None
        return meaning.kind in ("extra_any", "extra_set", "choices") or (
            meaning.kind == "fact" and self.rules.facts[meaning.base].type == "set"
        )

    def guard(self, guard: Guard) -> str:
        parts = [Leaf("engine.version", ">=", guard.since, ())] if guard.since else []
        parts += [Leaf("engine.version", "<", guard.until, ())] if guard.until else []
        return " && ".join(self.condition(part) for part in (*parts, guard.when))

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, Leaf):
            return self.leaf(condition)
        if isinstance(condition, Not):
            return f"!({self.condition(condition.inner)})"
        word = " && " if isinstance(condition, All) else " || "
        empty = "true" if isinstance(condition, All) else "false"
        return f"({word.join(self.condition(part) for part in condition.parts) or empty})"

    def leaf(self, leaf: Leaf) -> str:
        if leaf.op == "state":
            self.states.add(leaf.name)
            word = f"n_{leaf.name}"
            return f"{word} != 2" if leaf.operand == "blank" else f"{word} == {STATE_NUMBER[leaf.operand]}"
        name = self.variable(leaf.name)
        if leaf.op == "unknown":
            return f"{name} == null"
        if leaf.op == "is":
            if self.is_set(leaf.name):
                return "(" + " || ".join(f"{json.dumps(item)} in {name}" for item in leaf.operand) + ")"
            return f"{name} in [{', '.join(json.dumps(item) for item in leaf.operand)}]"
        left = self.numeric(leaf.name)
        if isinstance(leaf.operand, Ref):
            right = self.numeric(leaf.operand.name)
            return f"({left} != null && {right} != null && {left} {leaf.op} {right})"
        found = number(leaf.operand)
        if found is None:
            raise Untranslatable(str(leaf))
        return f"({left} != null && {left} {leaf.op} {found})"

    def numeric(self, name: str) -> str:
        word = self.variable(name)
        self.numbers.add(name)
        return f"{word}_num"

    def all_guards(self) -> str:
        """One expression: the list of what each guard says, in the order of the guards."""
        return f"[{', '.join(self.guards.values())}]"

    def values(self, resolution: Resolution) -> dict[str, Any]:
        """The variables for one resolution."""
        out: dict[str, Any] = {f"n_{name}": resolution.knob_state(name) for name in self.states}
        for name, word in self.names.items():
            value = resolution.lookup(name)
            if name in self.numbers:
                out[f"{word}_num"] = number(value)
            out[word] = sorted(map(str, value or ())) if self.is_set(name) else value
        return out
