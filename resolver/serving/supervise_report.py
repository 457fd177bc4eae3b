"""How did it end, and what is said of it: when the server is ready, and when it has ended."""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.diagnostics import RulesError
from resolver.serving import failures
from resolver.serving.progress import Progress
from resolver.serving.ready import Report

if TYPE_CHECKING:
    from resolver.serving.supervise_plan import Plan


@dataclass
class Ending:
    """How it ended.

    Attributes:
        why: "died", "stopped", "once", "not ready" or "guard killed".
        ready: whether the server had been ready.
        code: the engine's exit code; negative for the signal that ended it, None when it was not seen.
        number: the signal that asked to stop.
        problem: why the server was not ready.
        seconds: from the start until it was ready; None when it never was.
        killed, left, removed: processes that had to be killed, that could not be, and files removed.
    """

    why: str = "died"
    ready: bool = False
    code: int | None = None
    number: int = 0
    problem: str = ""
    seconds: float | None = None
    killed: int = 0
    left: tuple[int, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The exit status of the launcher: 0 only for a server that was ready, was asked to stop, and is gone."""
        if self.left:
            return 1
        if self.why == "once" or (self.why == "stopped" and self.ready):
            return 0
        if self.why == "stopped":
            return 128 + self.number
        if self.why == "died" and self.code:
            return self.code if self.code > 0 else 128 - self.code
        return 1


def tell_ready(report: Report, progress: Progress, plan: Plan, log: Path) -> None:
    """Say that the server is ready, and how that is known."""
    for result in report.results:
        progress.line(f"{'':9}  {result.name}: {result.detail} ({result.seconds:.2f} s)")
    said = f"ready: {plan.target.model} on {plan.url}"
    progress.line(f"{progress.elapsed():7.1f} s  {said}", always=True)
    progress.line(f"{'':9}  log in {log}")


def tell_end(ending: Ending, progress: Progress, lines: Collection[str], root: Path, log: Path) -> None:
    """Say how it ended; of an engine that died or was not ready, why."""

    def say(text: str) -> None:
        progress.line(text, always=True)

    if ending.why in ("once", "stopped"):
        progress.line(f"{progress.elapsed():7.1f} s  stopped")
    elif ending.why == "died":
        before = "" if ending.ready else ", before it was ready"
        say(f"error: the engine ended after {progress.elapsed():.0f} s{before}: {how(ending.code)}")
    elif ending.why == "not ready":
        say(f"error: the server is not ready: {ending.problem}")
    else:
        say(f"error: {ending.problem}, and the engine was ended")
    if ending.why in ("died", "not ready"):
        _tell_cause(ending, say_lines=list(lines), root=root, progress=progress)
        say(f"    log  {log}")
    if ending.killed:
        progress.line(f"{'':9}  {ending.killed} of its processes had to be killed")
    if ending.removed:
        progress.line(f"{'':9}  {len(ending.removed)} temporary files that it left were removed")
    if ending.left:
        say(f"error: processes that cannot be killed: {', '.join(map(str, ending.left))}")


def _tell_cause(ending: Ending, say_lines: list[str], root: Path, progress: Progress) -> None:
    try:
        known = failures.explain(failures.load(root), say_lines)
    except RulesError as error:
        known = None
        progress.line(f"warning: {error.diagnostics[0].position}: {error.diagnostics[0].message}", always=True)
    if ending.why == "died" or known is not None:
        for text in failures.last_error(say_lines):
            progress.line(f"    its last error  {text}", always=True)
    if known is not None:
        progress.line(f"    means  {known.means}", always=True)
        progress.line(f"    fix  {known.fix}", always=True)
        progress.line(f"    see  {known.see()}", always=True)


def how(code: int | None) -> str:
    """Say an exit code in words."""
    if code is None:
        return "how is not known"
    if code >= 0:
        return f"exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"killed by {name}" + (", as the kernel does when memory runs out" if name == "SIGKILL" else "")
