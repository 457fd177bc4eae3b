"""The proof of why-not: it never denies a launch that is there, and what it holds is what the launch at hand has."""

from __future__ import annotations

import random
from typing import Any

import pytest

from resolver.analysis.cells import NULL, OTHER, Cell, exact
from resolver.model import Flag
from resolver.resolution import Resolution
from resolver.views.explain_parts import text_of
from resolver.views.whynot import Goal
from resolver.views.whynot_held import fitting
from resolver.views.whynot_plain import plainly_ruled_out
from resolver.views.whynot_points import assumptions, example_point
from resolver.views.whynot_proof import Prover
from tests.explain.requests import ask, random_request, resolver
from tests.explain.whynot_brute import base, examples

CELLS = [Cell("gap", "7.5"), exact("8.0"), Cell("gap", "8.6"), exact("9.0"), Cell("gap", "12.0"), NULL]


@pytest.mark.parametrize(
    ("cells", "value", "wanted"),
    [
        ([exact("a"), exact("b"), OTHER, NULL], "b", {1}),
        ([exact("a"), exact("b"), OTHER, NULL], "c", {2}),
        ([exact("a"), exact("b"), OTHER, NULL], None, {3}),
        ([exact(0), Cell("range", low=1, high=5), Cell("range", low=6, high=9)], 6, {2}),
        ([exact(0), Cell("range", low=1, high=5), Cell("range", low=6, high=9)], 10, {0, 1, 2}),
        ([exact(False), exact(True)], True, {1}),
        ([exact(0), exact(1), exact(True)], True, {2}),
        (CELLS, "8.0", {1}),
        (CELLS, "8.9", {2}),
        (CELLS, "10.0", {4}),
        (CELLS, "6.1", {0}),
        (CELLS, None, {5}),
    ],
)
def test_cells_that_may_hold_a_value(cells: list[Cell], value: Any, wanted: set[int]) -> None:
    assert fitting(cells, value) == wanted


def goals(resolution: Resolution, rng: random.Random) -> list[Goal]:
    """What an accepted launch reaches: its arm, and the value of one of its flags."""
    flags = [e for e in resolution.rules.argv if isinstance(e, Flag) and not e.bare]
    told = [(e, text) for e in flags if (text := text_of(resolution, e.source)) is not None]
    entry, text = rng.choice(told)
    return [Goal(arm=str(resolution.setting("arm"))), Goal(flag=entry.flag, value=text, source=entry.source)]


def check_never_denied(resolution: Resolution, rng: random.Random) -> None:
    """The launch itself has all of its assumptions, so that none is ever proven to be missing with any of them held."""
    assumed = assumptions(resolution)
    for goal in goals(resolution, rng):
        assert goal.reached(resolution)
        prover = Prover(resolution, goal, assumed)
        for fixed in (assumed, rng.sample(assumed, len(assumed) // 2), rng.sample(assumed, min(2, len(assumed)))):
            point, proven = prover.launch(fixed)
            assert not (point is None and proven), f"{goal} with {[a.says for a in fixed]}"
            assert not plainly_ruled_out(resolution, goal, {(a.kind, a.name) for a in fixed})


def accepted(count: int, rng: random.Random) -> list[Resolution]:
    found: list[Resolution] = []
    while len(found) < count:
        point = base(rng)
        drawn = [random_request(rng), resolver().resolve(point.request, point.machine, point.engine)]
        found += [r for r in drawn if not r.refused]
    return found[:count]


def test_a_launch_that_is_there_is_never_denied() -> None:
    rng = random.Random(31)
    for resolution in accepted(25, rng):
        check_never_denied(resolution, rng)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_thousand_launches_and_all_examples_are_never_denied() -> None:
    rng = random.Random(32)
    for example in examples():
        point = example_point(ask("mtp-fast"), example)
        resolution = resolver().resolve(point.request, point.machine, point.engine)
        if not resolution.refused:
            check_never_denied(resolution, rng)
    for resolution in accepted(1000, rng):
        check_never_denied(resolution, rng)


def test_an_arm_of_another_cell_is_denied_with_a_proof() -> None:
    resolution = ask("mtp-fast")
    goal = Goal(arm="mtp-huge-kvarn")
    assumed = assumptions(resolution)
    context = [a for a in assumed if a.name == "ctx"]
    prover = Prover(resolution, goal, assumed)
    assert prover.launch(context) == (None, True)
    assert plainly_ruled_out(resolution, goal, {("knob", "ctx")})
    assert not plainly_ruled_out(resolution, goal, {("knob", "spec")})
    point, _ = prover.launch([a for a in assumed if a.name == "spec"])
    assert point is not None


def test_a_text_that_cannot_be_used_rules_everything_out() -> None:
    resolution = ask("mtp-fast", "PORT=nine")
    assert plainly_ruled_out(resolution, Goal(arm="mtp-fast-flash-bf16"), {("knob", "port")})
    assert not plainly_ruled_out(resolution, Goal(arm="mtp-fast-flash-bf16"), {("knob", "ctx")})
