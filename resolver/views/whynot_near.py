"""Launches that reach the goal of why-not, found by few changes: of the launch at hand, or of one that reaches it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from resolver.knobs import Given
from resolver.views import suggest_reach
from resolver.views.whynot_points import Assumption, Point, mixed

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.views.whynot import Goal

BUDGET = 160
"""Launches tried near the one at hand, before the analysis of the rules is asked."""
DEEPEST = 3
"""Changes from a start."""


class Near:
    """The search near some launches. `assumed`: all that may be held of the launch at hand."""

    def __init__(
        self, resolution: Resolution, goal: Goal, starts: Sequence[Point], assumed: Sequence[Assumption]
    ) -> None:
        self.resolution = resolution
        self.resolver = resolution.resolver
        self.goal = goal
        self.starts = starts
        self.assumed = assumed
        self.left = 0

    def launch(self, fixed: Sequence[Assumption]) -> Point | None:
        """A launch found by few changes of what is free, from the launch at hand or from an example, those first against which least
        speaks; None when none was found."""
        self.left = BUDGET
        held = {(a.kind, a.name) for a in fixed}
        seen: set[Any] = set()
        heap: list[tuple[int, int, int, Point, Resolution]] = []

        def look(point: Point, depth: int) -> bool:
            found, tried = self._try(point, seen)
            if tried is not None and not found and depth < DEEPEST:
                against = len(suggest_reach.refusals(tried)) + 2 * (not self.goal.fits(tried))
                heappush(heap, (against + depth, depth, len(seen), point, tried))
            return found

        for start in self.starts:
            point = mixed(self.resolution, fixed, start, self.assumed)
            if look(point, 0):
                return point
        while heap:
            _, depth, _, point, tried = heappop(heap)
            for changed in self._changes(point, tried, held):
                if self.left <= 0:
                    return None
                if look(changed, depth + 1):
                    return changed
        return None

    def _try(self, point: Point, seen: set[Any]) -> tuple[bool, Resolution | None]:
        facts = point.machine.facts
        key = (
            frozenset((k, g.text) for k, g in point.request.knobs.items()),
            point.request.args,
            tuple(sorted((k, str(v)) for k, v in facts.items())),
            id(point.machine.files),
            point.engine,
        )
        if key in seen:
            return False, None
        seen.add(key)
        self.left -= 1
        resolution = self.resolver.resolve(point.request, point.machine, point.engine)
        return self.goal.reached(resolution), resolution

    def _changes(self, point: Point, tried: Resolution, held: set[tuple[str, str]]) -> Iterator[Point]:
        """Free knobs behind what speaks against the launch, given another value."""
        names: list[str] = []
        for refusal in suggest_reach.refusals(tried)[:2]:
            names += refusal.names
        if not self.goal.fits(tried):
            names += ["arm"] if self.goal.arm else [str(self.goal.source), "arm"]
        knobs, _ = suggest_reach.behind(tried, names)
        for name in knobs:
            if ("knob", name) in held:
                continue
            knob = self.resolver.rules.knobs[name]
            given = point.request.knobs.get(name)
            if given is not None:
                yield replace(
                    point,
                    request=replace(point.request, knobs={k: g for k, g in point.request.knobs.items() if k != name}),
                )
            for text in suggest_reach.values(self.resolver.rules, knob, given.text if given else None)[:8]:
                if not suggest_reach.same(tried, knob, text):
                    knobs_then = {**point.request.knobs, name: Given(text, "argument")}
                    yield replace(point, request=replace(point.request, knobs=knobs_then))
