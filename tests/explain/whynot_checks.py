"""What must be true of every answer to why-not."""

from __future__ import annotations

import random
from itertools import combinations

from resolver.resolution import Resolution
from resolver.views.whynot import Goal, WhyNot
from resolver.views.whynot_search import Search
from tests.explain.requests import resolver
from tests.explain.typing_it import typed
from tests.explain.whynot_brute import holds_in, others


def check_minimal(resolution: Resolution, goal: Goal, found: WhyNot, tries: int, rng: random.Random) -> None:
    """Every subset of a conflict leaves a launch that reaches the goal, and brute force finds none that the whole leaves."""
    assert len(found.conflicts) == len(found.witnesses) == len(found.exact) - found.never
    search = Search(resolution, goal)
    for conflict, witnesses in zip(found.conflicts, found.witnesses, strict=True):
        for one, witness in zip(conflict, witnesses, strict=True):
            reached = resolver().resolve(witness.request, witness.machine, witness.engine)
            assert not reached.refused
            assert goal.fits(reached)
            for other in conflict:
                assert other is one or holds_in(resolution, other, witness), (str(goal), other.says)
        for size in range(len(conflict)):
            for less in combinations(conflict, size):
                point = search.possible(less)
                assert point is not None, f"{goal}: still ruled out with {[a.says for a in less]} alone"
        assert search.possible(conflict) is None
    for conflict in found.conflicts or ([[]] if found.never else []):
        for point in others(resolution, goal, conflict, tries, rng):
            again = resolver().resolve(point.request, point.machine, point.engine)
            assert not goal.reached(again), f"{goal} is reached although {[a.says for a in conflict]} holds"


def check_command(resolution: Resolution, goal: Goal, command: str) -> None:
    if "***" in command or "$'" in command:
        return
    asked = resolution.request
    environ = dict(asked.environ if asked.caller is None else asked.caller)
    assert goal.reached(typed(command, environ, resolution)), command
