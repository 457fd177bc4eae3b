"""`launch.py explain`: why the launch is what it is, why an arm is not taken, and what a flag, knob or rule does here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resolver.cli import suggesting
from resolver.cli.ask import ask
from resolver.cli.options import OPTIONS, SHORT, Line
from resolver.cli.start import OK, put
from resolver.diagnostics import UsageError

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.views.page import Page


def run(line: Line) -> int:
    """Print the explanation, of a refused launch as well. Raises UsageError for a name that nothing has."""
    what = [word for word, _ in line.words[1:]]
    asked = [*what, *(name for name in ("--arm", "--want") if line.given(name))]
    if len(asked) > 1:
        raise UsageError(f"explain takes one thing at a time, not {len(asked)}", "ask for one of them")
    resolution = ask(line).resolution
    from resolver.views.explain import explain
    from resolver.views.explain_text import show_explanation

    if line.given("--arm") or line.given("--want"):
        from resolver.views import whynot

        arm, want = line.get("--arm"), line.get("--want")
        goal = whynot.arm_goal(resolution, arm) if arm else whynot.flag_goal(resolution, want or "")
        found = whynot.why_not(resolution, goal, suggesting.launcher(), suggesting.elsewhere(line))
        data = explain(resolution, items=[found.as_json()])
    else:
        data = explain(resolution, what[0].removeprefix(FLAG) if what else None)
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(data))
        return OK
    from resolver.views.page import stdout_page

    page = stdout_page()
    if resolution.refused:
        _say_refused(resolution, page)
    show_explanation(data, page, line.given("--verbose"))
    return OK


def _say_refused(resolution: Resolution, page: Page) -> None:
    """What is explained below would not be launched: say so first, and why."""
    page.line("refused: nothing would be launched, and what follows is what the rules gave")
    for diagnostic in resolution.diagnostics:
        if diagnostic.severity in ("refuse", "error"):
            page.line(f"  - {diagnostic.message}")
    page.line()


FLAG = "flag:"


def prepare(words: Sequence[str]) -> list[str]:
    """The words of `explain`, in which a flag of the engine stands for itself (`explain --max-num-seqs`), and --want takes any word."""
    out: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return [*out, *words[at - 1 :]]
        name = word.partition("=")[0]
        if word == "--want" and at < len(words):
            out.append(f"--want={words[at]}")
            at += 1
        elif word.startswith("--") and "=" not in word and name not in OPTIONS and name not in SHORT:
            out.append(FLAG + word)
        else:
            out.append(word)
            if name in OPTIONS and OPTIONS[name].value is not None and "=" not in word and at < len(words):
                out.append(words[at])
                at += 1
    return out
