"""Brute force is worth something: where one fact of a conflict is given up, it finds a launch in most cases."""

from __future__ import annotations

import random

from resolver.views.whynot import Goal, why_not
from tests.explain.requests import refusals, resolver
from tests.explain.whynot_brute import cell, engines, examples, holds_in, others, recorded


def test_brute_force_finds_what_minimal_conflicts_leave() -> None:
    rng = random.Random(5)
    arms = list(resolver().rules.arms)
    asked = found = 0
    for resolution in refusals(15, seed=5):
        goal = Goal(arm=rng.choice(arms))
        for conflict in why_not(resolution, goal).conflicts:
            for one in conflict:
                less = [a for a in conflict if a is not one]
                asked += 1
                found += any(
                    goal.reached(resolver().resolve(p.request, p.machine, p.engine))
                    for p in others(resolution, goal, less, 120, rng)
                )
    assert asked > 20
    assert found >= 0.8 * asked


def test_what_it_draws_from() -> None:
    assert len(examples()) > 400
    assert len(recorded()) > 500
    assert {name.partition("+")[0] for name in engines()} == {
        "0.28.0",
        "0.29.0",
        "0.30.0",
        "0.31.0",
        "0.32.0",
        "0.33.0",
    }
    assert cell(Goal(arm="off-huge-kvarn")) == {"spec": ("off", "none"), "ctx": ("huge",)}


def test_what_is_held_is_in_every_launch_that_it_draws() -> None:
    rng = random.Random(6)
    for resolution in refusals(5, seed=6):
        goal = Goal(arm="mtp-long-fp8")
        conflict = why_not(resolution, goal).conflicts[0:1]
        drawn = [p for held in conflict for p in others(resolution, goal, held, 30, rng)]
        assert all(holds_in(resolution, a, p) for held in conflict for p in drawn for a in held)
