"""What do people see of arms that were compared? What was left out and why, then each number of each arm beside the first one's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resolver.views.measured import number

if TYPE_CHECKING:
    from resolver.measure.compare import Row, Run
    from resolver.views.page import Page


def show(runs: Sequence[Run], rows: Sequence[Row], remarks: Sequence[str], page: Page) -> None:
    """Write it all."""
    for run in runs:
        if run.why_not:
            page.line(f"round {run.number}, {run.arm}: nothing follows from it: {run.why_not}", "refuse")
    unsound = sum(not one.sound for run in runs if not run.why_not for one in run.measurements)
    if unsound:
        page.line(f"{unsound} numbers that are not sound are left out", "warn")
    if not rows:
        page.line("nothing can be compared", "warn")
        return
    page.table(
        ("metric", "at", "first", "other", "ratio", "95 % interval", "rounds", "so"), [_cells(row) for row in rows]
    )
    for remark in remarks:
        page.line(remark, "note")


def _cells(row: Row) -> Sequence[str]:
    ratio = "" if row.ratio is None else f"{row.ratio:.4g}"
    interval = "" if row.low is None or row.high is None else f"{row.low:.3g} to {row.high:.3g}"
    return (
        row.metric,
        row.at,
        f"{row.first} {number(row.first_value)} {row.unit}",
        f"{row.other} {number(row.other_value)} {row.unit}",
        ratio,
        interval,
        str(row.pairs),
        row.says,
    )
