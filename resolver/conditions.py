"""Conditions: the YAML of a `when`, read into a small tree. `codegen` compiles the tree, `interpret` walks it.

Entries of one mapping are and-ed. A value is: a literal (equals), a list (one of), text that starts with `<`, `>`, `<=`
or `>=` and a space (compares with a number, a version or a name), one of the words for the state of a knob
(given, empty, unset, blank), `unknown` (a fact nobody could find out, or a setting that has no value), or
`{not: VALUE}`. The keys `not`, `any` and `all` combine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resolver.diagnostics import Diagnostic, RulesError

if TYPE_CHECKING:
    from resolver.yaml12 import Document

STATES = ("given", "empty", "unset", "blank")
_COMPARE = re.compile(r"(<=|>=|<|>)\s+(\S.*)\Z")
_NUMBER = re.compile(r"-?[0-9]+\Z")
_DOTTED = re.compile(r"[0-9]+(\.[0-9]+)+\Z")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*\Z")

Literal = str | int | bool
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Leaf:
    """One test of one name.

    op: `is` (operand: a tuple of literals, one of which must equal the value or be in the set), `state` (operand: the word),
    `unknown`, or a comparison (operand: an int, a version text such as "8.6", or a `Ref`).
    """

    name: str
    op: str
    operand: Any
    path: Path


@dataclass(frozen=True)
class Ref:
    """A name on the right side of a comparison."""

    name: str


@dataclass(frozen=True)
class Not:
    """`inner` does not hold."""

    inner: Condition


@dataclass(frozen=True)
class All:
    """Every part holds; no parts: always."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Any_:
    """At least one part holds; no parts: never."""

    parts: tuple[Condition, ...]


Condition = Leaf | Not | All | Any_
ALWAYS = All(())


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Every leaf, left to right."""
    if isinstance(condition, Leaf):
        yield condition
    elif isinstance(condition, Not):
        yield from leaves(condition.inner)
    else:
        for part in condition.parts:
            yield from leaves(part)


def names(condition: Condition) -> Iterator[str]:
    """Every name that the condition reads."""
    for leaf in leaves(condition):
        yield leaf.name
        if isinstance(leaf.operand, Ref):
            yield leaf.operand.name


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.errors: list[Diagnostic] = []

    def fail(self, path: Path, message: str, fix: str, *, key: bool = False) -> Condition:
        self.errors.append(Diagnostic("error", "condition", message, fix, self.document.position(path, key=key)))
        return ALWAYS

    def mapping(self, data: Any, path: Path) -> Condition:
        if not isinstance(data, dict):
            return self.fail(path, "a condition is a mapping of names to values", "write `{name: value}`")
        if not data:
            return self.fail(path, "an empty condition", "leave it out, or say what must be true")
        return All(tuple(self.entry(key, value, (*path, key)) for key, value in data.items()))

    def entry(self, key: str, value: Any, path: Path) -> Condition:
        if key == "not":
            return Not(self.mapping(value, path))
        if key in ("any", "all"):
            if not isinstance(value, list) or not value:
                return self.fail(path, f"`{key}` takes a list of conditions", f"write `{key}: [{{...}}, {{...}}]`")
            parts = tuple(self.mapping(item, (*path, i)) for i, item in enumerate(value))
            return Any_(parts) if key == "any" else All(parts)
        if not NAME.match(key):
            return self.fail(path, f"{key!r} is not a name", "write words joined by dots", key=True)
        return self.value(key, value, path)

    def value(self, name: str, value: Any, path: Path) -> Condition:
        if isinstance(value, dict):
            if list(value) != ["not"]:
                return self.fail(
                    path,
                    f"the value of {name} is a mapping other than {{not: VALUE}}",
                    f'write {{{name}: VALUE}}, {{{name}: {{not: VALUE}}}}, or a comparison as text: {{{name}: "> 4"}}',
                )
            return Not(self.value(name, value["not"], (*path, "not")))
        if isinstance(value, list):
            if not value:
                return self.fail(
                    path, f"{name} is one of nothing: an empty list never holds", f"write {{{name}: [VALUE, VALUE]}}"
                )
            parts = [self.value(name, item, (*path, i)) for i, item in enumerate(value)]
            plain = [p for p in parts if isinstance(p, Leaf) and p.op == "is"]
            rest = [p for p in parts if not (isinstance(p, Leaf) and p.op == "is")]
            joined: list[Condition] = []
            if plain:
                joined.append(Leaf(name, "is", tuple(x for p in plain for x in p.operand), path))
            joined += rest
            return joined[0] if len(joined) == 1 else Any_(tuple(joined))
        if value is None:
            return self.fail(path, f"{name} has no value", "write `unknown` to ask whether nothing is known")
        if isinstance(value, float):
            return self.fail(path, f"{name}: numbers with a fraction are written as text", f'write "{value}"')
        if isinstance(value, str):
            if value in STATES:
                return Leaf(name, "state", value, path)
            if value == "unknown":
                return Leaf(name, "unknown", None, path)
            if value[:1] in "<>" and value:
                return self.compare(name, value, path)
        return Leaf(name, "is", (value,), path)

    def compare(self, name: str, value: str, path: Path) -> Condition:
        match = _COMPARE.match(value)
        if not match:
            return self.fail(
                path, f"{name}: {value!r} is not a comparison", 'write "> 7" or "<= other_name", with a space'
            )
        op, right = match.groups()
        right = right.strip()
        if _NUMBER.match(right):
            if len(right) > 18:
                return self.fail(path, f"{name}: the number is too large", "write at most 18 digits")
            return Leaf(name, op, int(right), path)
        if _DOTTED.match(right):
            return Leaf(name, op, right, path)
        if NAME.match(right):
            return Leaf(name, op, Ref(right), path)
        return self.fail(
            path,
            f"{name}: {right!r} is neither a number, a version nor a name",
            f'write {{{name}: "{op} 4"}}, "{op} 8.6" or "{op} other_name"',
        )


def read_condition(document: Document, data: Any, path: Path) -> Condition:
    """Read the condition at `path` of `document`. Raises RulesError with every error in it."""
    reader = _Reader(document)
    condition = reader.mapping(data, path)
    if reader.errors:
        raise RulesError(reader.errors)
    return condition
