"""The names of tool-call and reasoning parsers that a version registers; its command-line parser does not check them."""

from __future__ import annotations

import ast
from pathlib import Path

REGISTERED = {
    "tool_call_parser": ("tool_parsers", "_TOOL_PARSERS_TO_REGISTER"),
    "reasoning_parser": ("reasoning", "_REASONING_PARSERS_TO_REGISTER"),
}
"""Flag -> the package of vLLM that registers its names, and the table there."""


class NoTableError(RuntimeError):
    """A package has no such table any more."""


def names(source: Path) -> dict[str, list[str]]:
    """The names by flag, sorted; `source` is the folder that holds the package vllm. Nothing is imported."""
    return {
        flag: _keys(source / "vllm" / package / "__init__.py", table) for flag, (package, table) in REGISTERED.items()
    }


def _keys(file: Path, table: str) -> list[str]:
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == table for t in targets):
            value = getattr(statement, "value", None)
            if isinstance(value, ast.Dict):
                return sorted(str(key.value) for key in value.keys if isinstance(key, ast.Constant))
    raise NoTableError(f"{file} has no table {table}")
