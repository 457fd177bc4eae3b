"""How is progress shown? As bars on standard error, on a terminal only; elsewhere not at all."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from resolver.measure.journal import Bar, NoBar

if TYPE_CHECKING:
    from rich.progress import TaskID


def bar(quiet: bool = False) -> Bar:
    """The bar for this process: one that shows something only where somebody looks."""
    try:
        looks = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    except ValueError:
        looks = False
    return RichBar() if looks and not quiet else NoBar()


class RichBar:
    """A line for each tool: its name, the bar, pieces done, time gone and time to come, the piece at hand."""

    def __init__(self) -> None:
        """Prepare; nothing is shown before a tool begins."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        self._progress = Progress(
            TextColumn("{task.description:<16}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            Remaining(),
            TextColumn("{task.fields[piece]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: TaskID | None = None
        self._steps = 0

    def begin(self, tool: str, total: int, done: int) -> None:
        """Show a tool's bar."""
        name, _, part = tool.partition(".")
        name += " lengths" if part == "lengths" else " control" if part.endswith("control") else ""
        self._task = self._progress.add_task(name, total=total, completed=done, piece="")
        self._steps = done
        self._progress.start()

    def step(self, what: str) -> None:
        """Move on, and name the piece that comes."""
        if self._task is not None:
            self._progress.update(self._task, completed=self._steps, piece=what)
        self._steps += 1

    def end(self) -> None:
        """Take the bar away."""
        self._progress.stop()
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
