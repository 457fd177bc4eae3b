"""`launch.py resolve`: print the launch instead of starting it."""

from __future__ import annotations

import sys

from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put
from resolver.diagnostics import UsageError

FOR_PROGRAMS = ("argv", "env")
"""Formats that are read by programs, often and in a hurry: what `fit` has to say is not computed for them."""


def run(line: Line) -> int:
    """Resolve and print; returns the exit status."""
    if line.given("--batch"):
        from resolver.cli.batch import run_batch

        return run_batch(line)
    wanted = format_of(line)
    from resolver.cli import suggesting
    from resolver.cli.ask import ask

    answer = suggesting.applied(line, ask(line))
    resolution = answer.resolution
    notes = answer.notes
    if wanted not in FOR_PROGRAMS:
        from resolver.views.fit_note import memory_notes

        notes = (*notes, *memory_notes(resolution))
    if wanted == "json":
        import json

        from resolver.views.result import as_json

        data = as_json(resolution, notes) | {"suggestions": suggesting.as_json(line, answer)}
        put(json.dumps(data, indent=2) + "\n")
        return REFUSED if resolution.refused else OK
    from resolver.views.page import stderr_page, stdout_page
    from resolver.views.terminal import show_resolution

    if wanted == "table" and not resolution.refused:
        show_resolution(resolution, stdout_page(), level_of(line), notes)
        return OK
    show_resolution(resolution, stderr_page(), level_of(line), notes, command=False)
    if resolution.refused:
        suggesting.show(line, answer, stderr_page())
        return REFUSED
    from resolver.views import formats

    if wanted in ("argv", "shell", "env"):
        put({"argv": formats.argv_lines, "shell": formats.shell_line, "env": formats.env_lines}[wanted](resolution))
    else:
        from resolver.views.targets import TARGETS

        put(TARGETS[wanted](resolution))
    return OK


def level_of(line: Line) -> int:
    """How much is said: 0 quiet, 1 normal, 2 verbose."""
    return 0 if line.given("--quiet") else 2 if line.given("--verbose") else 1


def format_of(line: Line) -> str:
    """The format asked for; without one, table on a terminal and shell elsewhere."""
    named = line.get("--format")
    if line.given("--json"):
        if named not in (None, "json"):
            raise UsageError(f"--json and --format {named} exclude each other", "give one of the two")
        return "json"
    if named:
        return named
    try:
        return "table" if sys.stdout is not None and sys.stdout.isatty() else "shell"
    except ValueError:
        return "shell"
