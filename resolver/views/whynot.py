"""Why is an arm not taken, or a flag not what was wanted? The smallest sets of the user's and the machine's facts that rule it out.

A conflict is a set of assumptions under which no launch reaches the goal, whatever everything else is; it is minimal: without any
one of its members some launch does, and that launch is kept as the witness. Whether a launch exists is found by search: from the
examples of the arms, mixed with what is held, repaired by changes of what is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from resolver.compile.helpers import show
from resolver.diagnostics import UsageError, nearest
from resolver.expressions import Const
from resolver.knobs import Given
from resolver.model import Arm, Flag
from resolver.views import explain_parts as parts
from resolver.views import suggest_command, suggest_reach
from resolver.views.suggest_draft import Draft
from resolver.views.whynot_points import Assumption, Point, assumptions, example_point, here, mixed

if TYPE_CHECKING:
    from resolver.resolution import Resolution

BUDGET = 160
"""Launches tried to find out whether one exists."""
LARGEST = 3
MOST_CONFLICTS = 4


@dataclass(frozen=True, slots=True)
class Goal:
    """What is wanted: an arm, or a value of a flag as the launcher renders it (`source` is the setting or knob behind it)."""

    arm: str | None = None
    flag: str | None = None
    value: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        return f"arm {self.arm}" if self.arm else f"{self.flag} {self.value}"

    def reached(self, resolution: Resolution) -> bool:
        """Whether the launch is accepted and is what is wanted."""
        return self.fits(resolution) and not resolution.refused

    def fits(self, resolution: Resolution) -> bool:
        if self.arm:
            return bool(resolution.setting("arm") == self.arm)
        assert self.source is not None
        return parts.text_of(resolution, self.source) == self.value


@dataclass(frozen=True)
class WhyNot:
    """The answer. `reached`: it is so already. `conflicts`: minimal ones, the smallest first. `command`: how to get it, where nothing rules it out."""

    goal: Goal
    reached: bool
    conflicts: list[list[Assumption]] = field(default_factory=list)
    witnesses: list[list[Point]] = field(default_factory=list)
    command: str | None = None
    never: bool = False
    leaves: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain data (schema 1)."""
        return {
            "kind": "why-not",
            "name": str(self.goal),
            "reached": self.reached,
            "conflicts": [[a.as_json() for a in conflict] for conflict in self.conflicts],
            "never": self.never,
            "command": self.command,
            "false": self.leaves,
        }


def arm_goal(resolution: Resolution, name: str) -> Goal:
    """Raises UsageError for an arm that does not exist."""
    if name not in resolution.rules.arms:
        near = nearest(name, list(resolution.rules.arms))
        raise UsageError(f"there is no arm {name}", f"did you mean {near}?" if near else "see `launch.py arms`")
    return Goal(arm=name)


def flag_goal(resolution: Resolution, wanted: str) -> Goal:
    """`FLAG=VALUE`. Raises UsageError for a flag that the launcher does not render by itself."""
    name, eq, value = wanted.partition("=")
    if not eq or not value:
        raise UsageError("--want takes FLAG=VALUE", "write --want kv-cache-dtype=fp8, for example")
    flags = {e.flag: e for e in resolution.rules.argv if isinstance(e, Flag) and not e.bare}
    flag = "--" + name.lstrip("-").replace("_", "-")
    if flag not in flags:
        near = nearest(flag, list(flags))
        raise UsageError(
            f"the launcher sets no flag {flag} with a value",
            f"did you mean {near}?" if near else "give the engine flag after `--`",
        )
    return Goal(flag=flag, value=value, source=flags[flag].source)


def why_not(
    resolution: Resolution,
    goal: Goal,
    launcher: Sequence[str] = suggest_command.LAUNCHER,
    options: Sequence[str] = (),
) -> WhyNot:
    """Why the goal is not reached, or how it is. `launcher` and `options` stand in the command, as for suggestions."""
    if goal.reached(resolution):
        return WhyNot(goal, True)
    search = _Search(resolution, goal)
    leaves = _false(resolution, goal)
    everything = search.assumed
    now = search.possible(everything)
    if now is not None:
        draft = Draft(now.request)
        start = here(resolution).request
        command = suggest_command.command(resolution.resolver, start, draft, launcher, options)
        return WhyNot(goal, False, command=command, leaves=leaves)
    if search.possible([]) is None:
        return WhyNot(goal, False, never=True, leaves=leaves)
    conflicts, witnesses = search.conflicts()
    return WhyNot(goal, False, conflicts, witnesses, leaves=leaves)


def _false(resolution: Resolution, goal: Goal) -> list[dict[str, Any]]:
    """The false leaves of the arm's conditions, and the rules that refuse it, each with its current value."""
    if goal.arm is None:
        return []
    arm = resolution.rules.arms[goal.arm]
    out = []
    for what, condition in (("when", arm.when), ("chosen_by", arm.chosen_by), ("eligible", arm.eligible)):
        if condition is not None:
            out += [{"of": what, **leaf} for leaf in parts.leaves(resolution, condition, False) if not leaf["true"]]
    return out


class _Search:
    def __init__(self, resolution: Resolution, goal: Goal) -> None:
        self.resolution = resolution
        self.resolver = resolution.resolver
        self.goal = goal
        self.assumed = assumptions(resolution)
        self.starts = list(_starts(resolution, goal))
        self.left = 0

    # conflicts

    def conflicts(self) -> tuple[list[list[Assumption]], list[list[Point]]]:
        """Minimal conflicts by size; those that hold a smaller one are left out."""
        found: list[list[Assumption]] = []
        relevant = [a for a in self.assumed if a.kind != "knob" or self._matters(a)]
        for size in range(1, LARGEST + 1):
            for chosen in combinations(relevant, size):
                if any(set(c) <= set(chosen) for c in found):
                    continue
                if self.possible(chosen) is None:
                    found.append(list(chosen))
                if len(found) >= MOST_CONFLICTS:
                    break
            if found:
                break
        if not found:
            found = [self._shrunk()]
        checked, witnesses = [], []
        for conflict in found:
            less = [self.possible([a for a in conflict if a is not one]) for one in conflict]
            if all(point is not None for point in less):
                checked.append(conflict)
                witnesses.append([point for point in less if point is not None])
        return checked, witnesses

    def _matters(self, assumption: Assumption) -> bool:
        """Whether giving the knob up alone changes anything that the goal may rest on: cheap, errs towards yes."""
        return self.resolver.rules.knobs[assumption.name].type != "ignored" or assumption.name == "wsl_distro_name"

    def _shrunk(self) -> list[Assumption]:
        """A minimal conflict by leaving out one after the other."""
        held = list(self.assumed)
        for one in list(held):
            less = [a for a in held if a is not one]
            if self.possible(less) is None:
                held = less
        return held

    # does a launch exist?

    def possible(self, fixed: Sequence[Assumption]) -> Point | None:
        """A launch that reaches the goal with these held, or None when none was found."""
        self.left = BUDGET
        held = {(a.kind, a.name) for a in fixed}
        starts = [mixed(self.resolution, fixed, start, self.assumed) for start in self.starts]
        seen: set[Any] = set()
        level = []
        for start in starts:
            found, tried = self._try(start, seen)
            if found:
                return start
            if tried is not None:
                level.append((start, tried))
        for _ in range(2):
            following = []
            for point, tried in level:
                for changed in self._changes(point, tried, held):
                    if self.left <= 0:
                        return None
                    found, again = self._try(changed, seen)
                    if found:
                        return changed
                    if again is not None:
                        following.append((changed, again))
            level = following
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
