"""`launch.py arms`: the matrix, cell by cell."""

from __future__ import annotations

from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.compile import open_resolver
from resolver.diagnostics import UsageError, nearest
from resolver.model import Rules
from resolver.views.matrix import CAPABILITIES, Cell, cells, how_taken, needs_of
from resolver.views.page import dump, stdout_page


def run(line: Line) -> int:
    """Print the cells that the filters leave."""
    resolver = open_resolver()
    if line.given("--measured") and line.given("--unmeasured"):
        raise UsageError("--measured and --unmeasured exclude each other", "give one of the two")
    capability = _capability(line, resolver.root)
    everything = cells(resolver.rules)
    _known("--backend", line.get("--backend"), [c.backend for c in everything])
    found = [cell for cell in everything if _wanted(cell, line, capability)]
    if line.given("--json"):
        put(dump({"schema": 1, "cells": [cell.as_json() for cell in found]}))
        return OK
    page = stdout_page()
    if not line.given("--quiet"):
        with_arm = sum(1 for c in found if c.arms)
        measured = sum(1 for c in found if c.measured)
        page.line(f"{len(found)} cells: {with_arm} with an arm, {measured} of these measured", "bold")
    head = ("CTX", "SPEC", "backend", "GPU", "arm", "measured on")
    page.table(head, [_row(cell) for cell in found])
    if not line.given("--quiet"):
        page.line()
        page.line("arms", "bold")
        page.pairs(
            [_about(resolver.rules, name) for name in dict.fromkeys(c.arms[0] for c in found if c.arms)], indent=2
        )
    return OK


def _row(cell: Cell) -> tuple[str, ...]:
    arm = cell.arms[0] if cell.arms else "no arm"
    measured = (cell.measured or "not measured") if cell.arms else ""
    return cell.ctx, cell.spec, cell.backend, cell.capability, arm, measured


def _about(rules: Rules, name: str) -> tuple[str, str]:
    """An arm's name, and how it is taken and what it needs."""
    arm = rules.arms[name]
    needs = "; ".join(needs_of(rules, arm))
    return name, f"{arm.help}; taken {how_taken(rules, arm)}; needs {needs or 'nothing more'}"


def _capability(line: Line, root: object) -> str | None:
    from pathlib import Path

    named = line.get("--machine")
    if named:
        from resolver.machines import load_machine

        found = load_machine(Path(str(root)), named).facts.get("gpu.capability")
        if found is None:
            return "none"
        return str(found)
    capability = line.get("--capability")
    _known("--capability", capability, [*CAPABILITIES, "none"])
    return capability


def _known(option: str, value: str | None, known: list[str]) -> None:
    if value is not None and value not in known:
        names = list(dict.fromkeys(known))
        near = nearest(value, names)
        raise UsageError(
            f"there is no cell with {option} {value[:40]}",
            f"did you mean {near}?" if near else f"use one of {', '.join(names)}",
        )


def _wanted(cell: Cell, line: Line, capability: str | None) -> bool:
    pairs = ((line.get("--ctx"), cell.ctx), (line.get("--spec"), cell.spec), (line.get("--backend"), cell.backend))
    if any(asked is not None and asked != has for asked, has in (*pairs, (capability, cell.capability))):
        return False
    if not cell.arms and not line.given("--all"):
        return False
    if line.given("--measured"):
        return cell.measured is not None
    return not (line.given("--unmeasured") and cell.measured is not None)
