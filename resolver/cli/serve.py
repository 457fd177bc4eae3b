"""`launch.py serve`: start the server, watch it, say when it is really ready, and stop all of it in the end."""

from __future__ import annotations

import contextlib
import os
import sys

from resolver.cli.before_start import to_start
from resolver.cli.options import Line
from resolver.cli.start import put
from resolver.diagnostics import UsageError


def run(line: Line) -> int:
    """Resolve, start, supervise; returns the exit status."""
    seconds = timeout_of(line)
    resolution = to_start(line)
    if isinstance(resolution, int):
        return resolution
    from resolver.serving import state, supervise, supervise_plan
    from resolver.serving.progress import Progress

    plan = supervise_plan.make(resolution)
    wishes = supervise.Wishes(
        state.log_path(line.get("--log"), os.environ, supervise_plan.state_name(resolution)),
        supervise.TIMEOUT if seconds is None else seconds,
        line.given("--once"),
        line.get("--ask"),
        _put_now,
        line.given("--verbose"),
    )
    return supervise.supervise(plan, wishes, Progress(quiet=line.given("--quiet")))


def _put_now(text: str) -> None:
    """Print the answer while the server goes on."""
    put(text + "\n")
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


def timeout_of(line: Line) -> float | None:
    """The seconds of --timeout; None without it. Raises UsageError for what is no number of seconds."""
    given = line.get("--timeout")
    if given is None:
        return None
    try:
        seconds = float(given) if given.isascii() and len(given) < 20 else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e7:
        raise UsageError("--timeout takes a number of seconds above 0", "write --timeout 600, for example")
    return seconds
