"""`launch.py matrix --html FILE`: the matrix as one page for a browser, with every answer in it."""

from __future__ import annotations

import os
import sys
import time

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

    text = page(resolver, wanted, tables(resolver, wanted, tell), " ".join(suggesting.launcher()))
    _write(name, text)
    if not quiet:
        say(f"wrote {name}: {len(text) / 1e6:.1f} MB\n")
    return OK


def _can_write(name: str) -> None:
    """Raises UsageError where the file cannot be made: before the minute that the answers take."""
    folder = os.path.dirname(os.path.abspath(name))
    if os.path.isdir(name) or not os.path.isdir(folder):
        raise UsageError(f"--html {name} cannot be written: there is no such folder, or it is one", "name a file")
    if not os.access(name if os.path.exists(name) else folder, os.W_OK):
        raise UsageError(f"--html {name} cannot be written: it is not yours to write", "name another file")


def _write(name: str, text: str) -> None:
    """Write the whole file or none of it."""
    beside = f"{name}.{os.getpid()}.part"
    try:
        with open(beside, "w", encoding="utf-8") as handle:
            handle.write(text)
        os.replace(beside, name)
    except OSError as error:
        if os.path.exists(beside):
            os.unlink(beside)
        raise UsageError(
            f"--html {name} cannot be written: {os.strerror(error.errno or 0)}", "name another file"
        ) from None
    finally:
        sys.stderr.flush()
