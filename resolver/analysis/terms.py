"""What a name can stand for, row by row: literals, base variables, and free values where an expression cannot be inverted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from resolver import coercions, expressions
from resolver.analysis.cells import LARGEST, Cuts
from resolver.analysis.variables import Free, Key
from resolver.compile.helpers import HELPERS, show
from resolver.conditions import Condition, Leaf, Ref, leaves
from resolver.expressions import Const, Expression, Name, Operation
from resolver.model import Rules
from resolver.names import Scope, row_names
from resolver.wording import condition_text

MANY = 32
"""Combinations of an expression's inputs that are looked at one by one; more become one free value."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is known."""

    value: Any


@dataclass(frozen=True, slots=True)
class Base:
    """What the variable holds; `part` where it has several (`last` of a flag, `kind` of a file)."""

    key: Key
    part: str = ""


Term = Fixed | Base
SET_KINDS = ("extra_any", "extra_set", "choices")
ENGINE_FACTS = ("engine.version", "engine.overlays", "engine.flags", "engine.variables")
_RESULT = {"+": "_op_add", "-": "_op_sub", "*": "_op_mul", "//": "_op_div"}


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
    """The value of an expression whose names have known values."""
    if isinstance(expression, Const):
        return expression.value
    if isinstance(expression, Name):
        return values[expression.name]
    if isinstance(expression, Operation):
        operator = _RESULT.get(expression.operator, f"_op_{expression.operator}")
        return HELPERS[operator](*(evaluate(a, values) for a in expression.arguments))
    parts = [p if isinstance(p, str) else values[p.name] for p in expression.parts]
    return None if any(p is None for p in parts) else "".join(map(show, parts))


class Terms:
    """The terms of every name, and what the conditions cut them into."""

    def __init__(self, rules: Rules, scope: Scope, beside: Terms | None = None) -> None:
        """`beside`: the terms of other rules with which variables are shared."""
        self.rules = rules
        self.scope = scope
        self.free: dict[Key, Free] = beside.free if beside else {}
        self.behind: dict[Key, tuple[str, ...]] = beside.behind if beside else {}
        self.cuts: dict[Key, Cuts] = beside.cuts if beside else {}
        self.tested: dict[str, dict[Any, None]] = beside.tested if beside else {}
        self.uses: dict[Key, int] = beside.uses if beside else {}
        self._terms: dict[str, tuple[Term, ...]] = {}
        self._definitions: dict[str, str] = {}

    def of(self, name: str) -> tuple[Term, ...]:
        """All that a name may stand for, in whatever request."""
        found = self._terms.get(name)
        if found is None:
            found = self._terms[name] = tuple(dict.fromkeys(self._of(name)))
        return found

    def _of(self, name: str) -> Iterator[Term]:
        meaning = self.scope.meaning(name)
        assert meaning is not None, name
        if meaning.kind == "knob":
            yield Base(("knob", meaning.base))
        elif meaning.kind == "fact":
            yield Base(("engine",), "version") if name == "engine.version" else Base(("fact", meaning.base))
        elif meaning.kind == "extra_last":
            yield Base(("flag", meaning.base), "last")
            yield Fixed(None)
        elif meaning.kind == "file":
            for term in self.of(meaning.base):
                yield self.file(term, meaning.part, meaning.base)
            yield Fixed(None)
        elif meaning.kind == "reading":
            for term in self.of(meaning.base):
                yield self.reading(meaning.part, term, meaning.base)
            yield Fixed(None)
        elif meaning.kind == "setting":
            for row in self.rules.settings[meaning.base].rows:
                yield from self.of_expression(row.value)
            yield Fixed(None)

    def file(self, term: Term, part: str, behind: str) -> Term:
        """What stands at a path; what is written in it is not known."""
        if isinstance(term, Fixed) and not (isinstance(term.value, str) and term.value):
            return Fixed(None)
        if part != "longest":
            return Base(("file", term), part)
        key: Key = ("free", "content", part, term)
        self.free[key] = Free("int", 1, 10**40, True)
        self.behind[key] = (behind,)
        return Base(key)

    def reading(self, part: str, term: Term, behind: str) -> Term:
        """A reading of a text that is not known."""
        if isinstance(term, Fixed):
            return Fixed(coercions.read(part, term.value))
        key: Key = ("free", "reading", part, term)
        gives = str(coercions.READINGS[part].__annotations__["return"])
        kind = "bool" if "bool" in gives else "int" if "int" in gives else "text"
        self.free[key] = Free(kind, 0, 10**40, "None" in gives)
        self.behind[key] = (behind,)
        return Base(key)

    # expressions

    def of_expression(self, expression: Expression) -> Iterator[Term]:
        if isinstance(expression, Const):
            yield Fixed(expression.value)
        elif isinstance(expression, Name):
            yield from self.of(expression.name)
        else:
            names = tuple(dict.fromkeys(expressions.names(expression)))
            inputs = [self.of(name) for name in names]
            for combination in self.combinations(inputs):
                yield self.combined(expression, names, combination)
            yield Fixed(None)

    @staticmethod
    def combinations(inputs: Sequence[Sequence[Term]]) -> list[tuple[Term, ...] | None]:
        """Each combination of inputs, or [None] for all of them as one."""
        size = 1
        for terms in inputs:
            size *= len(terms)
        return list(product(*inputs)) if size <= MANY else [None]

    def combined(self, expression: Expression, names: tuple[str, ...], inputs: tuple[Term, ...] | None) -> Term:
        """The expression over one combination of inputs (None: over all): a known value, or a free one."""
        if inputs is not None:
            known = {n: t.value for n, t in zip(names, inputs, strict=True) if isinstance(t, Fixed)}
            if None in known.values():
                return Fixed(None)
            if len(known) == len(names):
                return Fixed(evaluate(expression, known))
            sources: dict[str, Sequence[Term]] = {n: (t,) for n, t in zip(names, inputs, strict=True)}
        else:
            sources = {n: self.of(n) for n in names}
        means = inputs if inputs is not None else tuple(self.definition(n) for n in names)
        key: Key = ("free", "value", expression, means)
        if isinstance(expression, Operation):
            low, high, nullable = self.interval(expression, sources)
            self.free[key] = Free("int", low, high, nullable or inputs is None)
        else:
            self.free[key] = Free("text", nullable=inputs is None)
        self.behind[key] = names
        return Base(key)

    def definition(self, name: str) -> str:
        """A digest of what a name rests on, without positions: equal for two sets of rules in which it means the same."""
        if name not in self._definitions:
            meaning = self.scope.meaning(name)
            said: list[Any] = [name]
            if meaning is not None and meaning.base in self.rules.settings:
                rows = self.rules.settings[meaning.base].rows
                inner = dict.fromkeys(n for row in rows for n in row_names(row) if n != name)
                said += [(condition_text(row.when), row.value) for row in rows]
                said += [self.definition(n) for n in inner]
            self._definitions[name] = hashlib.blake2b(repr(said).encode(), digest_size=12).hexdigest()
        return self._definitions[name]

    def interval(self, expression: Expression, sources: Mapping[str, Sequence[Term]]) -> tuple[int, int, bool]:
        """The smallest and largest whole number it may be, and whether it may be null although no input is."""
        limit = 10**40
        if isinstance(expression, Const):
            value = expression.value
            return (value, value, False) if type(value) is int else (-limit, limit, True)
        if isinstance(expression, Name):
            found = [self._range(term) for term in sources[expression.name]]
            return min(f[0] for f in found), max(f[1] for f in found), any(f[2] for f in found)
        if not isinstance(expression, Operation):
            return -limit, limit, True
        parts = [self.interval(a, sources) for a in expression.arguments]
        lows, highs = [p[0] for p in parts], [p[1] for p in parts]
        nullable = any(p[2] for p in parts)
        operator = expression.operator
        if operator in ("min", "max"):
            pick = min if operator == "min" else max
            return pick(lows), pick(highs), nullable
        (a, b), (c, d) = (lows[0], highs[0]), (lows[1], highs[1])
        if operator in ("//", "ceil_div"):
            if a < 0 or c < 0:
                return -limit, limit, True
            return a // max(d, 1), -(-b // max(c, 1)), nullable or c == 0
        if operator == "+":
            low, high = a + c, b + d
        elif operator == "-":
            low, high = a - d, b - c
        else:
            corners = (a * c, a * d, b * c, b * d)
            low, high = min(corners), max(corners)
        return max(low, -(10**80)), min(high, 10**80), nullable or low <= -limit or high >= limit

    def _range(self, term: Term) -> tuple[int, int, bool]:
        if isinstance(term, Fixed):
            return (term.value, term.value, False) if type(term.value) is int else (0, 0, True)
        if term.key in self.free:
            free = self.free[term.key]
            return (free.low, free.high, free.nullable) if free.type == "int" else (0, 0, True)
        if term.key[0] == "knob":
            knob = self.rules.knobs[term.key[1]]
            if knob.type == "int":
                return knob.minimum or 0, LARGEST if knob.maximum is None else knob.maximum, False
        return 0, LARGEST, True

    # cuts

    def cut(self, condition: Condition) -> None:
        """Take note of every leaf."""
        for leaf in leaves(condition):
            self._cut(leaf)

    def _use(self, key: Key) -> Cuts:
        self.uses[key] = self.uses.get(key, 0) + 1
        return self.cuts.setdefault(key, Cuts())

    def _cut(self, leaf: Leaf) -> None:
        meaning = self.scope.meaning(leaf.name)
        assert meaning is not None, leaf.name
        if meaning.kind in SET_KINDS or (meaning.kind == "fact" and self.rules.facts[meaning.base].type == "set"):
            if meaning.kind == "extra_any" and leaf.op == "is":
                self.tested.setdefault(meaning.base, {}).update(dict.fromkeys(leaf.operand))
            return
        for term in self.of(leaf.name):
            if isinstance(leaf.operand, Ref):
                for other in self.of(leaf.operand.name):
                    self._cut_pair(leaf.op, term, other)
            elif isinstance(term, Base):
                cuts = self._use(term.key)
                if term.part not in ("kind", "exists"):
                    cuts.add(leaf.op, leaf.operand)

    def _cut_pair(self, op: str, left: Term, right: Term) -> None:
        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
        if isinstance(left, Base):
            self._use(left.key).add(op, right.value if isinstance(right, Fixed) else None)
        if isinstance(right, Base):
            self._use(right.key).add(turned, left.value if isinstance(left, Fixed) else None)
