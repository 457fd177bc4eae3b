"""`launch.py diff A B`: what differs between two launches. A side is a profile, a machine, an engine, a saved result, or a short command line."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from resolver import files
from resolver.cli.ask import ask
from resolver.cli.options import Line, read
from resolver.cli.start import OK, REFUSED, put
from resolver.diagnostics import UsageError

if TYPE_CHECKING:
    from resolver.views.diff import Side

TAKES = ("--profile", "--machine", "--engine", "--env-file")


def run(line: Line) -> int:
    """Print the differences; exit status 1 when there are any, as `diff` does."""
    sides = [word for word, _ in line.words[1:]]
    if len(sides) != 2:
        raise UsageError(
            f"diff takes two sides, not {len(sides)}",
            "write launch.py diff mtp-fast mtp-long, or quote a side: 'mtp-fast MAX_SEQS=2 --machine rtx-4090'",
        )
    from resolver.compile import product_root
    from resolver.views.diff import diff

    data = diff(side(line, sides[0]), side(line, sides[1]), product_root())
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(data))
    else:
        from resolver.views.diff_text import show_diff
        from resolver.views.page import stdout_page

        show_diff(data, stdout_page(), line.given("--verbose"))
    return OK if data["same"] else REFUSED


def side(line: Line, text: str) -> Side:
    """The side that a word means, on top of what the whole line asks. Raises UsageError."""
    from resolver.views.diff import saved_side, side_of

    is_file = os.path.isfile(text)
    if (is_file or text.endswith(".json")) and not text.endswith((".yaml", ".yml")):
        try:
            saved = json.loads(files.read_text(text))
        except (OSError, ValueError, RecursionError):
            raise UsageError(f"{text} cannot be read as JSON", "save one with launch.py resolve --json") from None
        if not (isinstance(saved, dict) and saved.keys() >= {"machine", "facts"}):  # else it is a machine file
            return saved_side(text, saved)
    try:
        own = read([text] if is_file else shlex.split(text))
    except ValueError:
        raise UsageError("a quote in a side is never closed", "add the quote") from None
    both = Line(dict(line.options), [], [*line.assignments, *own.assignments], [*(line.args or []), *(own.args or [])])
    for name, value in own.options.items():
        if name not in TAKES:
            raise UsageError(f"a side of diff takes no {name}", f"use {', '.join(TAKES)}, knobs and engine flags")
        both.options[name] = value
    for word, _ in own.words:
        both.options[_option(word)] = word
    return side_of(text, ask(both).resolution)


def _option(word: str) -> str:
    """Which option a bare word stands for."""
    from resolver.compile import open_resolver
    from resolver.diagnostics import nearest
    from resolver.engine import versions
    from resolver.machines import is_file_name, names

    resolver = open_resolver()
    if word in resolver.rules.profiles:
        return "--profile"
    if word in names(resolver.root) or is_file_name(word):
        return "--machine"
    if word.split("+", maxsplit=1)[0] in versions(resolver.root):
        return "--engine"
    near = nearest(word, [*resolver.rules.profiles, *names(resolver.root), *versions(resolver.root)])
    raise UsageError(
        f"{word} is no profile, machine, engine or saved result",
        f"did you mean {near}?" if near else "see `launch.py profiles`",
    )
