"""What the commands do with suggestions: show them after a refusal, put them into JSON, and apply one (`--apply N`)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from resolver.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from resolver.cli.ask import Answer
    from resolver.cli.options import Line
    from resolver.views.page import Page
    from resolver.views.suggest import Suggestion

LIMIT = 3


def suggestions(line: Line, answer: Answer, limit: int = LIMIT) -> list[Suggestion]:
    """The launches near a refused one, their commands as this user types them."""
    from resolver.views.suggest import suggest

    command = [word for word, _ in line.words[:1]]
    return suggest(answer.resolution, limit, (*launcher(), *command), elsewhere(line))


def elsewhere(line: Line) -> list[str]:
    """The options that say for which machine and engine the launch is resolved."""
    return [word for name in ("--machine", "--engine") if (given := line.get(name)) for word in (name, given)]


def launcher() -> tuple[str, ...]:
    """How this process was started, as words that start it again."""
    from shutil import which

    script = sys.argv[0] if sys.argv and os.path.basename(sys.argv[0]).endswith(".py") else "launch.py"
    python = sys.executable or "python"
    name = os.path.basename(python)
    if which(name) == python:
        return name, script
    near = os.path.relpath(python)
    return (python if near.startswith("..") else near), script


def applied(line: Line, answer: Answer) -> Answer:
    """The answer, or with `--apply N` the one of the Nth suggestion. Raises UsageError when there are not so many."""
    wanted = line.get("--apply")
    if wanted is None:
        return answer
    if not wanted.isascii() or not wanted.isdigit() or not 1 <= int(wanted[:3]) <= LIMIT:
        raise UsageError(f"--apply takes the number of a suggestion, from 1 to {LIMIT}", "write --apply 1, for example")
    if not answer.resolution.refused:
        said = "nothing is refused, so --apply changes nothing"
        return answer._replace(notes=(*answer.notes, Diagnostic("note", "nothing-to-apply", said)))
    found = suggestions(line, answer)
    if int(wanted) > len(found):
        there = "there is no accepted launch nearby" if not found else f"there are only {len(found)} suggestions"
        raise UsageError(f"--apply {wanted}: {there}", "leave --apply out to see the reasons and what there is")
    chosen = found[int(wanted) - 1]
    note = Diagnostic("note", "suggestion-applied", f"suggestion {wanted} is applied: {chosen.command}")
    return answer._replace(resolution=chosen.resolution, notes=(*answer.notes, note))


def show(line: Line, answer: Answer, page: Page) -> None:
    """The suggestions for people; nothing when the launch is not refused."""
    from resolver.masking import HIDDEN

    if not answer.resolution.refused:
        return
    found = suggestions(line, answer)
    page.line()
    if not found:
        page.line("no accepted launch was found nearby: change what the reasons name", "bold")
        return
    page.line("accepted instead" + ("" if len(found) == 1 else ", the nearest first"), "bold")
    for i, item in enumerate(found, 1):
        page.line(f"{i}. {item.command}", indent=2)
        if not line.given("--quiet"):
            room = "" if item.fits else "; does not fit into memory, by `launch.py fit`"
            page.line(f"{', '.join(map(str, item.changes))}: arm {item.arm}, {item.cost}{room}", "dim", indent=5)
    if any(HIDDEN in item.command for item in found):
        page.line(f"type your own key where {HIDDEN} stands")
    if not line.given("--quiet"):
        page.line("add --apply 1 to the command you typed to run the first", "dim")


def as_json(line: Line, answer: Answer) -> list[dict[str, Any]]:
    """The suggestions as plain data; an empty list when the launch is not refused."""
    return [item.as_json() for item in suggestions(line, answer)] if answer.resolution.refused else []
