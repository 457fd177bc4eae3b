"""Expressions: what may stand after `=` in a value. Integer arithmetic, min, max, ceil_div, a name, or a `{name}` text.

`//` truncates toward zero; null, a text where a number is needed, or a division by zero gives null. The text of a bare name
is kept beside its value, so that argv gets what the user wrote.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from resolver.conditions import NAME
from resolver.diagnostics import Diagnostic, Position, RulesError

FUNCTIONS = ("min", "max", "ceil_div")
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_HOLE = re.compile(r"\{([^{}]*)\}")
_MAX_LENGTH = 500
_MAX_DEPTH = 40


@dataclass(frozen=True)
class Const:
    """A literal."""

    value: str | int | bool | None


@dataclass(frozen=True)
class Name:
    """The value of a knob, a setting, a fact or a flag."""

    name: str


@dataclass(frozen=True)
class Operation:
    """`operator` is + - * // or the name of a function; arguments are numbers."""

    operator: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Template:
    """Text pieces and names in turn."""

    parts: tuple[str | Name, ...]


Expression = Const | Name | Operation | Template


def names(expression: Expression) -> Iterator[str]:
    """Every name that the expression reads."""
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, Operation):
        for argument in expression.arguments:
            yield from names(argument)
    elif isinstance(expression, Template):
        for part in expression.parts:
            if isinstance(part, Name):
                yield part.name


def read_expression(value: str | int | bool | None, position: Position) -> Expression:
    """A literal, or what stands after `=`. Raises RulesError at `position`."""
    if not isinstance(value, str) or not value.startswith("="):
        return Const(value)
    text = value[1:].strip()

    def fail(message: str, fix: str | None = None) -> RulesError:
        return RulesError([Diagnostic("error", "expression", f"{message}: {value!r}", fix, position)])

    if not text:
        raise fail("an empty expression", "write a value after `=`, or quote the text")
    if len(text) > _MAX_LENGTH:
        raise fail(f"an expression longer than {_MAX_LENGTH} characters")
    if "{" in text or "}" in text:
        return _template(text, fail)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise fail("not an expression", "use names, whole numbers, + - * //, min, max, ceil_div") from None
    return _convert(tree, fail)


def _template(text: str, fail: object) -> Expression:
    assert callable(fail)
    parts: list[str | Name] = []
    end = 0
    for hole in _HOLE.finditer(text):
        if hole.start() > end:
            parts.append(text[end : hole.start()])
        if not NAME.match(hole.group(1)):
            raise fail(f"{hole.group(1)!r} in braces is not a name")
        parts.append(Name(hole.group(1)))
        end = hole.end()
    parts.append(text[end:])
    if any(isinstance(p, str) and ("{" in p or "}" in p) for p in parts):
        raise fail("a brace without its partner")
    return Template(tuple(p for p in parts if p != ""))


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return None


def _convert(node: ast.expr, fail: object, depth: int = 0) -> Expression:
    assert callable(fail)
    if depth > _MAX_DEPTH:
        raise fail("an expression nested too deep", "compute a part of it in a setting of its own")
    depth += 1
    if isinstance(node, ast.Constant) and type(node.value) is int:
        if abs(node.value) >= 10**18:
            raise fail("a number too large")
        return Const(node.value)
    name = _dotted(node)
    if name:
        return Name(name)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Operation("-", (Const(0), _convert(node.operand, fail, depth)))
    if isinstance(node, ast.BinOp):
        operator = _OPERATORS.get(type(node.op))
        if operator is None:
            raise fail("an operator that the language does not have", "it has + - * // min max ceil_div")
        return Operation(operator, (_convert(node.left, fail, depth), _convert(node.right, fail, depth)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        wanted = 2 if node.func.id == "ceil_div" else None
        if node.func.id not in FUNCTIONS or len(node.args) < 2 or (wanted and len(node.args) != wanted):
            raise fail(
                "a call that the language does not have", "it has min(a, b, ...), max(a, b, ...), ceil_div(a, b)"
            )
        return Operation(node.func.id, tuple(_convert(argument, fail, depth) for argument in node.args))
    raise fail("not in the language", "use names, whole numbers, + - * //, min, max, ceil_div, or text with {names}")
