"""What do people see of a measuring session? Each tool's verdict and reasons, then its numbers with spread and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.measure.measurement import Measurement
    from resolver.measure.report import Report
    from resolver.measure.session import Session
    from resolver.views.page import Page

STYLE = {"clean": "good", "broken": "refuse", "inconclusive": "warn"}
SHOWN = ("context", "streams", "task", "cache_state", "conversation", "text", "questions")
"""Conditions that tell the numbers of one tool from each other."""


def number(value: float) -> str:
    """A number as people read it: four digits, no more."""
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def spread(one: Measurement) -> str:
    """The spread in words."""
    if one.low is None or one.high is None:
        return ""
    return f"{number(one.low)} to {number(one.high)} ({one.spread})"


def where(one: Measurement) -> str:
    """The conditions that matter, in words."""
    return ", ".join(f"{name} {one.conditions[name]}" for name in SHOWN if name in one.conditions)


def show(session: Session, page: Page, verbose: bool) -> None:
    """Write it all."""
    for report in session.reports:
        _tool(report, page, verbose)
    if session.interrupted:
        page.line("interrupted: what is above is what was measured until then", "warn")


def _tool(report: Report, page: Page, verbose: bool) -> None:
    page.line(f"{report.tool}: {report.verdict}{', interrupted' if report.interrupted else ''}", STYLE[report.verdict])
    for finding in report.findings:
        page.line(f"{finding.verdict:<13} {finding.subject}: {finding.reason}", indent=2)
        if verbose:
            for name, value in finding.details.items():
                page.line(f"{name}: {value}", "dim", indent=16)
    if report.measurements:
        page.table(("metric", "value", "unit", "spread", "n", "at"), _rows(report.measurements))
    for why in dict.fromkeys(one.notes[-1] for one in report.measurements if not one.sound and one.notes):
        page.line(f"not to be recorded: {why}", "warn", indent=2)
    if verbose:
        for one in report.measurements:
            page.line(f"{one.metric} at {where(one)}: {'; '.join(one.notes)}", "dim", indent=2)


def _rows(measurements: Sequence[Measurement]) -> list[Sequence[str]]:
    return [
        (one.metric, number(one.value) + ("" if one.sound else " ?"), one.unit, spread(one), str(one.n), where(one))
        for one in measurements
    ]
