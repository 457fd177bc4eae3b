"""Collect errors across many small readers, so that one run shows them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from resolver.conditions import Condition, Path, read_condition
from resolver.diagnostics import Diagnostic, Position, RulesError
from resolver.expressions import Const, Expression, read_expression
from resolver.yaml12 import Document

T = TypeVar("T")


class Collector:
    """Runs readers and keeps what they raise."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []

    def attempt(self, action: Callable[..., T], *arguments: Any) -> T | None:
        """The result of the call, or None with its errors kept."""
        try:
            return action(*arguments)
        except RulesError as error:
            self.errors.extend(error.diagnostics)
            return None

    def fail(self, rule: str, message: str, position: Position, fix: str | None = None) -> None:
        self.errors.append(Diagnostic("error", rule, message, fix, position))

    def finish(self) -> None:
        """Raises RulesError when anything was kept."""
        if self.errors:
            raise RulesError(list(dict.fromkeys(self.errors)))  # a schema that is missing fails each file that needs it

    def condition(self, document: Document, data: Any, path: Path) -> Condition | None:
        return self.attempt(read_condition, document, data, path)

    def expression(self, document: Document, data: Any, path: Path) -> Expression:
        found = self.attempt(read_expression, data, document.position(path))
        return Const(None) if found is None else found


def words(data: Any) -> tuple[str, ...]:
    """A word or a list of words, as a tuple."""
    if data is None:
        return ()
    return (data,) if isinstance(data, str) else tuple(str(item) for item in data)


def text_of(value: Any) -> str:
    """A YAML scalar as the text a user would type for a knob."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    return "" if value is None else str(value)
