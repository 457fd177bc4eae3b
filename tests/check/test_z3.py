"""A second opinion on the analysis: z3 says the same of rows and guards of generated rules. It knows values, not cells, and does arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resolver.analysis.diagram import EMPTY
from resolver.analysis.model import Model
from resolver.conditions import All, Condition, Leaf, Not
from resolver.expressions import Const, Expression, Name
from resolver.resolve import Resolver
from tests.check import base
from tests.check.generate import generate

z3 = pytest.importorskip("z3", reason="the package z3-solver is not installed")
NULL, TEXT = -(10**30), 10**30
"""Null, and from where on texts stand as numbers of their own."""


class Encoder:
    """Knobs of the types choice, int and switch, and the settings over them, as z3 integers; texts are numbered."""

    def __init__(self, resolver: Resolver) -> None:
        self.rules = resolver.rules
        self.texts: dict[str, int] = {}
        self.facts: list[Any] = []
        self.knobs: dict[str, tuple[Any, Any]] = {}
        self.settings: dict[str, Any] = {}

    def literal(self, value: Any) -> int:
        if value is None:
            return NULL
        return value if type(value) is int else TEXT + self.texts.setdefault(str(value), len(self.texts))

    def knob(self, name: str) -> tuple[Any, Any]:
        """(state, value)."""
        if name not in self.knobs:
            knob = self.rules.knobs[name]
            state, given = z3.Int(f"{name}.state"), z3.Int(f"{name}.given")
            default = None if knob.default is None else int(knob.default) if knob.type == "int" else knob.default
            if knob.type in ("switch", "zero_one"):
                allowed = z3.Or(given == self.literal("on"), given == self.literal("off"))
                default = {"1": "on", "0": "off", None: None}[knob.default]
            elif knob.type == "int":
                allowed = z3.And(given >= (knob.minimum or 0), given <= (knob.maximum or 10**18 - 1))
            else:
                allowed = z3.Or(*(given == self.literal(a) for a in knob.allowed))
            self.facts += [state >= 0, state <= 2, allowed]
            self.knobs[name] = (state, z3.If(state == 2, given, self.literal(default)))
        return self.knobs[name]

    def value(self, name: str) -> Any:
        if name in self.rules.knobs:
            return self.knob(name)[1]
        if name not in self.settings:
            found: Any = z3.IntVal(NULL)
            for row in reversed(self.rules.settings[name].rows):
                found = z3.If(self.condition(row.when), self.expression(row.value), found)
            self.settings[name] = found
        return self.settings[name]

    def expression(self, expression: Expression) -> Any:
        if isinstance(expression, Const):
            return z3.IntVal(self.literal(expression.value))
        if isinstance(expression, Name):
            return self.value(expression.name)
        assert expression.operator == "+"  # type: ignore[union-attr]
        left, right = (self.expression(a) for a in expression.arguments)  # type: ignore[union-attr]
        return z3.If(z3.Or(left == NULL, right == NULL), NULL, left + right)

    def condition(self, condition: Condition) -> Any:
        if isinstance(condition, Not):
            return z3.Not(self.condition(condition.inner))
        if not isinstance(condition, Leaf):
            parts = [self.condition(part) for part in condition.parts]
            return z3.And(*parts) if isinstance(condition, All) else z3.Or(*parts)
        if condition.op == "state":
            state = self.knob(condition.name)[0]
            return {"given": state == 2, "empty": state == 1, "unset": state == 0, "blank": state != 2}[
                condition.operand
            ]
        value = self.value(condition.name)
        if condition.op == "is":
            return z3.Or(*(value == self.literal(item) for item in condition.operand))
        if condition.op == "unknown":
            return value == NULL
        number = z3.And(value != NULL, value < TEXT)
        compared = {
            "<": value < condition.operand,
            "<=": value <= condition.operand,
            ">": value > condition.operand,
            ">=": value >= condition.operand,
        }
        return z3.And(number, compared[condition.op])

    def possible(self, *conditions: Any) -> bool:
        solver = z3.Solver()
        solver.add(*self.facts, *conditions)
        return bool(solver.check() == z3.sat)


def own(names: Any) -> list[str]:
    """The generated rules: those of the clean base ask about facts and flags."""
    return [name for name in names if name.startswith(("setting_", "guard-"))]


@pytest.mark.parametrize("seed", range(0, 24))
def test_rows_and_guards(seed: int, tmp_path: Path) -> None:
    data = generate(seed)
    for name in own(data["settings"]):  # some rows that cannot be taken, so that both answers are there
        rows = data["settings"][name]["first"]
        if len(rows) > 2 and seed % 2:
            rows.insert(len(rows) - 1, {"when": rows[0]["when"], "value": 4242})
    base.write(tmp_path, data)
    resolver = base.load(tmp_path)
    model, encoder = Model.of(resolver), Encoder(resolver)
    said = set()
    for name in own(resolver.rules.settings):
        earlier: list[Any] = []
        for row, win in zip(resolver.rules.settings[name].rows, model.rows(name)[0], strict=True):
            here = encoder.condition(row.when)
            possible = encoder.possible(here, *earlier)
            assert possible == (win != EMPTY), (name, row.position)
            said.add(possible)
            earlier.append(z3.Not(here))
    guards = [
        resolver.rules.guards[g]
        for g in own(resolver.rules.guards)
        if not resolver.rules.guards[g].since and not resolver.rules.guards[g].until
    ]
    for one in guards:
        for two in guards:
            both = encoder.possible(encoder.condition(one.when), z3.Not(encoder.condition(two.when)))
            inside = model.space.within(model.guard(one.id), model.guard(two.id))
            assert both != inside, (one.id, two.id)
    assert True in said
    assert (False in said) or seed % 2 == 0
