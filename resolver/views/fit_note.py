"""What `fit` has to say of a launch before it is started: nothing, or that it cannot fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resolver.geometry.verdict import Verdict
    from resolver.resolution import Resolution


def verdict_of(resolution: Resolution) -> Verdict | None:
    """The verdict on the launch; None where the arithmetic does not cover it."""
    from resolver.geometry.shapes import NoGeometry
    from resolver.geometry.verdict import judge
    from resolver.views.fit_setup import asked

    try:
        ask = asked(resolution)
        return judge(ask.known, ask.setup, ask.load, ask.card, ask.share)
    except NoGeometry:
        return None


def overfull(resolution: Resolution) -> bool:
    """Whether it does not fit even in the best case. What is only tight may fit."""
    found = None if resolution.refused else verdict_of(resolution)
    return found is not None and found.answer == "does not fit"


def memory_notes(resolution: Resolution) -> tuple[Diagnostic, ...]:
    """A warning where the launch does not fit even in the best case."""
    found = None if resolution.refused else verdict_of(resolution)
    if found is None or found.answer != "does not fit":
        return ()
    worst = next(q for q in found.questions if q.answer == "does not fit")
    assert worst.need is not None
    assert worst.have is not None
    return (
        Diagnostic(
            "warn",
            "does-not-fit",
            f"by the arithmetic of `fit` this launch does not fit: {worst.name} needs {worst.need.low:.2f} GiB or more, "
            f"and {max(0.0, worst.have.high):.2f} GiB at most are there",
            "ask `launch.py fit` with the same words which knob buys how much",
        ),
    )
