"""`launch.py fit`: does the launch fit into memory, what will the engine print, and what is the largest that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.cli.ask import ask
from resolver.cli.start import OK, REFUSED, put
from resolver.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from resolver.cli.options import Line


def run(line: Line) -> int:
    """Print the verdict; exit status 1 when it does not fit.

    A launch that the arithmetic does not cover is `unknown`, with the reason. Raises UsageError where --solve asks for a number of it.
    """
    from resolver.geometry.shapes import NoGeometry
    from resolver.views import fit
    from resolver.views.fit_setup import asked

    if line.given("--from-log"):
        from resolver.cli.fit_log import from_log

        return from_log(line)
    answer = ask(line)
    what = line.get("--solve")
    try:
        question = asked(answer.resolution)
        if line.given("--json"):
            from resolver.views.page import dump

            data = fit.as_json(question, what, line.given("--formulas"))
            put(dump({**data, "refused": answer.resolution.refused}))
            return REFUSED if data["answer"] == "does not fit" else OK
        from resolver.views.fit_text import show
        from resolver.views.page import stdout_page

        page = stdout_page()
        show(question, page, what, line.given("--formulas"), line.given("--quiet"))
    except NoGeometry as none:
        fix = none.fix or "start it, and read its log with --from-log FILE"
        if what:
            raise UsageError(f"this launch has no arithmetic: {none.message}", fix) from None
        _unknown(line, none.message, fix, answer.resolution.refused)
        _say((*answer.notes, *answer.resolution.diagnostics))
        return OK
    _say((*answer.notes, *answer.resolution.diagnostics))
    return REFUSED if fit.verdict(question).answer == "does not fit" else OK


def _unknown(line: Line, why: str, fix: str, refused: bool) -> None:
    """The verdict on a launch whose pool was never derived."""
    from resolver.views.page import dump, stdout_page

    if line.given("--json"):
        put(dump({"schema": 1, "answer": "unknown", "why": why, "fix": fix, "refused": refused}))
        return
    page = stdout_page()
    page.line("unknown", "warn")
    page.line(f"why  {why}", indent=2)
    page.line(f"fix  {fix}", indent=2)


def _say(diagnostics: tuple[Diagnostic, ...]) -> None:
    """A launch that is refused for another reason still has its numbers; the refusals are named, and what was assumed."""
    from resolver.cli.start import say

    for found in diagnostics:
        if found.rule == "no-engine-found":
            say(f"note: {found.message}\n")
        if found.severity in ("refuse", "error"):
            say(f"the launch is refused all the same: {found.message} ({found.rule})\n")
