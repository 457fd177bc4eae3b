"""`launch.py serve`: start the server, watch it, say when it is really ready, and stop all of it in the end."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from resolver.cli.before_start import to_start
from resolver.cli.options import Line
from resolver.cli.start import REFUSED, put, say, say_error
from resolver.diagnostics import UsageError

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.serving.owned_run import Place
    from resolver.serving.supervise import Wishes


def run(line: Line) -> int:
    """Resolve, start, supervise; returns the exit status."""
    seconds = timeout_of(line)
    if line.given("--switch") and line.given("--once"):
        raise UsageError("--switch and --once exclude each other", "leave out --once, and stop the server with Ctrl-C")
    resolution = to_start(line)
    if isinstance(resolution, int):
        return resolution
    from resolver.serving.owned_run import Interrupted
    from resolver.serving.switching import serve, switch
    from resolver.serving.wanted import wanted

    if line.given("--switch"):
        from resolver.cli import switch_checks

        env_file = line.get("--env-file")
        ready = wanted(resolution, lambda: switch_checks.after(resolution, env_file))
        problems = switch_checks.before(resolution, env_file)
        if problems:
            for text in problems:
                say_error(text, None)
            say("nothing was stopped, nothing was started: `launch.py doctor` and `launch.py fit` say more\n")
            return REFUSED
    else:
        ready = wanted(resolution)
    place, wishes = place_of(line, resolution), wishes_of(line, resolution, seconds)
    note_accepted(ready.recipe.configuration, resolution, line)
    try:
        return switch(ready, place, wishes) if line.given("--switch") else serve(ready, place, wishes).status
    except Interrupted as stopped:
        say("interrupted\n")
        return 128 + stopped.number


def place_of(line: Line, resolution: Resolution) -> Place:
    """Where servers are started: state folder, streams, and the launches to go back to."""
    from resolver.serving.accept.verdicts import known_good
    from resolver.serving.owned_run import Place
    from resolver.serving.ownership import store
    from resolver.serving.progress import Progress
    from resolver.shown import clean

    environ = resolution.request.environ
    return Place(
        store.folder(os.environ),
        environ,
        lambda text: say(clean(text) + "\n"),
        lambda: Progress(quiet=line.given("--quiet")),
        lambda keys: known_good(os.environ, keys, resolution.engine.name),
    )


def wishes_of(line: Line, resolution: Resolution, seconds: float | None) -> Wishes:
    """What the line wants beyond a server."""
    from resolver.serving import state, supervise, supervise_plan

    return supervise.Wishes(
        state.log_path(line.get("--log"), os.environ, supervise_plan.state_name(resolution)),
        supervise.TIMEOUT if seconds is None else seconds,
        line.given("--once"),
        line.get("--ask"),
        _put_now,
        line.given("--verbose"),
    )


def note_accepted(configuration: str, resolution: Resolution, line: Line) -> None:
    """Say when the launch was accepted on this machine, if it was."""
    from resolver.serving.accept.verdicts import accepted_on
    from resolver.serving.errors import LaunchError
    from resolver.shown import clean

    try:
        day = accepted_on(os.environ, configuration, resolution.engine.name)
    except LaunchError as error:
        say(clean(f"note: {error.message}; {error.fix}") + "\n")
        return
    if day and not line.given("--quiet"):
        say(f"note: this launch was accepted here on {day}\n")


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
