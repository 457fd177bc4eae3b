"""The findings of `doctor` as its checks write them, read from their source: they have no text before there is a machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHECKS = ("checks_engine", "checks_gpu", "checks_host")


class Found(NamedTuple):
    """One call of Finding; `…` stands for what is put in on the machine. `mends`: `--fix` can do it."""

    id: str
    severity: str
    what: str
    why: str
    fix: str
    mends: bool


def findings(root: Path) -> Iterator[Found]:
    """In the order of the checks."""
    for module in CHECKS:
        tree = ast.parse((root / "resolver" / "doctor" / f"{module}.py").read_text(encoding="utf-8"))
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Finding":
                id, severity, what, why, _, fix, *mend = map(_words, call.args)
                yield Found(id, severity, what, why, fix, bool(mend))


def _words(node: ast.expr) -> str:
    """The text of an argument; what is put in becomes `…`."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _words(node.left) + _words(node.right)
    if isinstance(node, ast.IfExp):
        first, second = _words(node.body), _words(node.orelse)
        return f"{first}, or {second}" if "…" not in (first, second) else first if second == "…" else second
    return "…"
