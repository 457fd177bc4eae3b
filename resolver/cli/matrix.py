"""`launch.py matrix --html FILE`: the matrix as one page for a browser, with every answer in it."""

from __future__ import annotations

import time

from resolver import output_files
from resolver.cli import suggesting
from resolver.cli.options import Line
from resolver.cli.start import OK, say
from resolver.compile import open_resolver
from resolver.diagnostics import UsageError


def run(line: Line) -> int:
    """Compute and write the page. Raises UsageError for what cannot be on it, or when the file cannot be written."""
    name = line.get("--html")
    if not name:
        raise UsageError("`launch.py matrix` writes a page, and no file is named", "write --html FILE")
    if line.args:
        raise UsageError("`launch.py matrix` takes no engine flags", "leave out `--` and what follows")
    _can_write(name)
    from resolver.views.html.anywhere import Anywhere
    from resolver.views.html.choices import choices
    from resolver.views.html.compute import tables
    from resolver.views.html.page import page

    resolver = open_resolver()
    wanted = choices(resolver, [(knob, value) for knob, value, _ in line.assignments])
    began = time.monotonic()
    quiet = line.given("--quiet")
    total = len(wanted.machines) * wanted.a_machine
    if not quiet:
        say(f"{total:,} launches are resolved: {len(wanted.machines)} machines, {len(wanted.profiles)} profiles, ")
        say(", ".join(f"{k.variable} ({len(k.values)})" for k in wanted.knobs) + "\n")

    def tell(done: int, of: int) -> None:
        if not quiet:
            say(f"  {done:,} of {of:,}, {time.monotonic() - began:.0f} s\n")

    launcher = Anywhere(resolver.root, suggesting.launcher()).launcher
    text = page(resolver, wanted, tables(resolver, wanted, tell), launcher)
    _write(name, text)
    if not quiet:
        say(f"wrote {name}: {len(text) / 1e6:.1f} MB\n")
    return OK


def _can_write(name: str) -> None:
    """Raises UsageError where the file cannot be made: before the minute that the answers take."""
    try:
        output_files.check(name)
    except OSError as error:
        raise _unwritable(name, error) from None


def _write(name: str, text: str) -> None:
    """Write the whole file or none of it."""
    try:
        output_files.replace(name, text.encode("utf-8"))
    except OSError as error:
        raise _unwritable(name, error) from None


def _unwritable(name: str, error: OSError) -> UsageError:
    return UsageError(f"--html {name} cannot be written: {error.strerror}", "name another file with --html")
