"""`launch.py accept`: boot a launch, put it to a short battery, and keep whether it is good; --list shows what was kept."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from resolver.cli.before_start import to_start
from resolver.cli.options import Line
from resolver.cli.serve import place_of, timeout_of, wishes_of
from resolver.cli.start import OK, REFUSED, put, say

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.serving.accept.result import Result
    from resolver.serving.accept.verdicts import Verdict
    from resolver.serving.owned_run import Wanted
    from resolver.serving.supervise import Wishes
    from resolver.serving.supervise_report import Ending

WORDS = {True: "passed", False: "FAILED", None: "not asked"}


def run(line: Line) -> int:
    """Boot, ask, keep the verdict; exit status 1 when the launch was not accepted."""
    if line.given("--list"):
        from resolver.cli.accept_list import show

        return show(line)
    seconds = timeout_of(line)
    resolution = to_start(line)
    if isinstance(resolution, int):
        return resolution
    from resolver.serving.accept import verdicts
    from resolver.serving.owned_run import Interrupted
    from resolver.serving.wanted import wanted

    ready = wanted(resolution)
    verdicts.check_writable(os.environ)
    wishes = replace(wishes_of(line, resolution, seconds), once=True, question=None)
    try:
        verdict, ending = _put_to_it(line, resolution, ready, wishes)
    except Interrupted as stopped:
        say("interrupted: nothing was started, and nothing is kept\n")
        return 128 + stopped.number
    if verdict is None:
        say("interrupted: the launch was neither accepted nor refused, and nothing is kept\n")
        return ending.status or REFUSED
    try:
        verdicts.keep(os.environ, verdict)
    finally:  # what was found is shown, whether or not it could be kept
        _show(line, verdict)
    return OK if verdict.accepted else REFUSED


def _put_to_it(line: Line, resolution: Resolution, ready: Wanted, wishes: Wishes) -> tuple[Verdict | None, Ending]:
    """Boot and ask. Returns the verdict, None when somebody stopped it, and how the server ended."""
    from resolver.measure.provenance_here import provenance_here
    from resolver.serving.accept import battery
    from resolver.serving.accept.subject import subject
    from resolver.serving.accept.verdicts import Verdict
    from resolver.serving.switching import serve

    results: list[Result] = []
    finished: list[bool] = []

    def ask(tell: object) -> None:
        assert callable(tell)
        for result in battery.run(subject(resolution, ready, wishes.log)):
            results.append(result)
            tell(f"{'':9}  {result.name}: {WORDS[result.passed]}, {result.detail} ({result.seconds:.2f} s)")
        finished.append(True)

    place = place_of(line, resolution)
    ending = serve(ready, place, replace(wishes, task=ask), way_out="")
    if ending.why == "stopped":
        return None, ending
    problem = ""
    if not ending.ready:
        problem = ending.problem or "the engine ended before it was ready"
    elif not finished:
        problem = "the engine ended while it was asked"
    known = provenance_here(resolution, resolution.resolver.root, os.environ)
    good = not problem and all(result.passed is not False for result in results)
    return (
        Verdict(
            known.at,
            good,
            problem,
            ready.recipe,
            ready.keys,
            known.rules or "",
            known.arm,
            ending.seconds,
            tuple(results),
            known.as_json(),
            str(wishes.log),
        ),
        ending,
    )


def _show(line: Line, verdict: Verdict) -> None:
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(verdict.as_json()))
        return
    from resolver.views.page import stdout_page

    page = stdout_page()
    name = f"{verdict.recipe.name} ({verdict.recipe.configuration})"
    if verdict.accepted:
        asked = sum(result.passed is True for result in verdict.results)
        page.line(f"accepted: {name}, {asked} checks passed", "good")
    else:
        page.line(f"not accepted: {name}", "refuse")
    for reason in verdict.reasons:
        page.line(f"{reason['check']}: {reason['reason']}", "refuse", indent=4)
        page.line(f"fix  {reason['fix']}", indent=4)
    if not line.given("--quiet"):
        for result in verdict.results:
            if result.passed is None:
                page.line(f"not asked: {result.name}, for {result.detail}", "dim", indent=4)
