"""The search of why-not: launches that reach the goal, and the smallest sets of assumptions that no such launch shares.

Every launch that was found is kept with all assumptions that could be left in it. A set of assumptions that some launch shares is no
conflict; one that none shares is asked of the search and of the analysis of the rules, and is either a conflict or brings one more launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from resolver.compile.helpers import show
from resolver.expressions import Const
from resolver.knobs import Given
from resolver.model import Arm
from resolver.views.whynot_near import Near
from resolver.views.whynot_plain import plainly_ruled_out
from resolver.views.whynot_points import Assumption, Point, assumptions, example_point, here, mixed

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.views.whynot import Goal
    from resolver.views.whynot_proof import Prover

LARGEST = 3
MOST_CONFLICTS = 4


@dataclass(frozen=True)
class Conflict:
    """`facts`: no launch was found that has all of them. `exact`: it is proven that there is none. `witnesses`: for each fact a launch
    that reaches the goal and has all the others."""

    facts: list[Assumption]
    exact: bool
    witnesses: list[Point]


class Search:
    """Launches that reach a goal, with some of the assumptions of a resolution held."""

    def __init__(self, resolution: Resolution, goal: Goal) -> None:
        self.resolution = resolution
        self.resolver = resolution.resolver
        self.goal = goal
        self.assumed = assumptions(resolution)
        self.starts = list(_starts(resolution, goal))
        self.found: list[tuple[frozenset[tuple[str, str]], Point]] = []
        self.near = Near(resolution, goal, self.starts, self.assumed)
        self._prover: Prover | None = None

    @property
    def prover(self) -> Prover:
        """The analysis of the rules, made when it is first needed."""
        if self._prover is None:
            from resolver.views.whynot_proof import Prover

            self._prover = Prover(self.resolution, self.goal, self.assumed)
        return self._prover

    # conflicts

    def conflicts(self) -> list[Conflict]:
        """Minimal ones of the smallest size; where all are larger than LARGEST, one."""
        sets: list[tuple[list[Assumption], bool]] = []
        for size in range(1, LARGEST + 1):
            for chosen in combinations(self.assumed, size):
                point, exact = self.ask(chosen)
                if point is None:
                    sets.append((list(chosen), exact))
                if len(sets) >= MOST_CONFLICTS:
                    break
            if sets:
                break
        out = []
        for held, exact in sets or [self._shrunk()]:
            witnesses = [self.possible([a for a in held if a is not one]) for one in held]
            out.append(Conflict(held, exact, [w for w in witnesses if w is not None]))
        return sorted(out, key=lambda conflict: not conflict.exact)

    def _shrunk(self) -> tuple[list[Assumption], bool]:
        """A minimal conflict by leaving out one after the other."""
        held = list(self.assumed)
        _, exact = self.ask(held)
        for one in list(held):
            less = [a for a in held if a is not one]
            point, sure = self.ask(less)
            if point is None:
                held, exact = less, sure
        return held, exact

    # does a launch exist?

    def possible(self, fixed: Sequence[Assumption]) -> Point | None:
        """A launch that reaches the goal with these held, or None when none was found."""
        return self.ask(fixed)[0]

    def ask(self, fixed: Sequence[Assumption]) -> tuple[Point | None, bool]:
        """A launch that reaches the goal with these held; or None, and whether it is proven that there is none."""
        wanted = {(a.kind, a.name) for a in fixed}
        for shared, point in self.found:
            if wanted <= shared:
                return point, False
        for start in self.starts:
            point = mixed(self.resolution, fixed, start, self.assumed)
            if self._reaches(point):
                return self._keep(point, fixed), False
        if plainly_ruled_out(self.resolution, self.goal, wanted):
            return None, True
        found = self.near.launch(fixed) if self._prover is None else None
        exact = False
        if found is None:
            late = self._prover is not None
            found, exact = self.prover.launch(fixed)
            if found is None and not exact and late:
                found = self.near.launch(fixed)
        return (None, exact) if found is None else (self._keep(found, fixed), False)

    def _reaches(self, point: Point) -> bool:
        return self.goal.reached(self.resolver.resolve(point.request, point.machine, point.engine))

    def _keep(self, point: Point, fixed: Sequence[Assumption]) -> Point:
        """Note the launch, in which as many of the other assumptions are held as go."""
        held = list(fixed)
        grown = point
        for one in self.assumed:
            if one not in held:
                more = mixed(self.resolution, [*held, one], grown, self.assumed)
                if self._reaches(more):
                    held, grown = [*held, one], more
        self.found.append((frozenset((a.kind, a.name) for a in held), grown))
        return point


def _starts(resolution: Resolution, goal: Goal) -> Iterator[Point]:
    """Launches that reach the goal, or nearly: the examples of the arm, or of every arm that sets the value; and the launch at hand."""
    rules = resolution.rules
    if goal.arm:
        arms = [rules.arms[goal.arm]]
    else:
        knobs = [k for k in rules.knobs.values() if k.name == goal.source or goal.source in k.sets]
        asked = here(resolution)
        for knob in knobs:
            given = {**asked.request.knobs, knob.name: Given(str(goal.value), "argument")}
            yield replace(asked, request=replace(asked.request, knobs=given))
        arms = [a for a in rules.arms.values() if _sets(a, goal)] or list(rules.arms.values())
    for arm in arms:
        for example in arm.taken:
            point = example_point(resolution, example)
            yield point
            for knob in () if goal.arm else knobs:
                given = {**point.request.knobs, knob.name: Given(str(goal.value), "argument")}
                yield replace(point, request=replace(point.request, knobs=given))
    yield here(resolution)


def _sets(arm: Arm, goal: Goal) -> bool:
    value = arm.sets.get(goal.source or "")
    return isinstance(value, Const) and show(value.value) == goal.value
