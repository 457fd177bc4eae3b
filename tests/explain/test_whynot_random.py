"""Why-not at random: every conflict is minimal. Each subset of it leaves a launch that reaches the goal, and the whole leaves none."""

from __future__ import annotations

import random

import pytest

from resolver.views.whynot import Goal, why_not
from tests.explain.requests import refusals, resolver
from tests.explain.whynot_checks import check_command, check_minimal


def sample(count: int, seed: int, tries: int) -> tuple[int, int]:
    """How many conflicts were checked, and how many of them are proven."""
    rng = random.Random(seed)
    arms = list(resolver().rules.arms)
    conflicts = exact = 0
    for resolution in refusals(count, seed):
        goal = Goal(arm=rng.choice(arms))
        found = why_not(resolution, goal)
        assert found.conflicts or found.command or found.never, str(goal)
        assert not found.reached
        check_minimal(resolution, goal, found, tries, rng)
        if found.command is not None:
            check_command(resolution, goal, found.command)
        conflicts += len(found.conflicts)
        exact += sum(found.exact)
    return conflicts, exact


def test_conflicts_of_random_refusals_are_minimal() -> None:
    conflicts, exact = sample(40, seed=41, tries=40)
    assert conflicts > 40
    assert exact >= 0.95 * conflicts


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_conflicts_of_500_random_refusals_are_minimal() -> None:
    conflicts, exact = sample(500, seed=42, tries=120)
    print(f"{exact} of {conflicts} conflicts are proven")
    assert conflicts > 350
    assert exact >= 0.95 * conflicts
