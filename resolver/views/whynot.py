"""Why is an arm not taken, or a flag not what was wanted? The smallest sets of the user's and the machine's facts that rule it out.

A conflict is a set of assumptions under which no launch reaches the goal, whatever everything else is; it is minimal: without any
one of its members some launch does, and that launch is kept as the witness. Whether a launch exists is found by search: from the
examples of the arms, mixed with what is held, repaired by changes of what is free; and by the analysis of the rules, which also
proves that there is none. Where it cannot, the answer says that no launch was found, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from resolver.diagnostics import UsageError, nearest
from resolver.knobs import FREE_TYPES
from resolver.model import Flag
from resolver.views import explain_parts as parts
from resolver.views import suggest_command
from resolver.views.suggest_draft import Draft
from resolver.views.suggest_flags import groups
from resolver.views.whynot_points import Assumption, Point, here
from resolver.views.whynot_search import Search

if TYPE_CHECKING:
    from resolver.resolution import Resolution


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
    """The answer. `reached`: it is so already. `conflicts`: minimal ones, the smallest first. `command`: how to get it, where nothing rules it out.

    `invented`: what stands in the command for something that only the user can choose: engine flags, free texts, how many machines.
    `exact`: for each conflict, or for `never`, whether it is proven that no launch reaches the goal; else none was found.
    """

    goal: Goal
    reached: bool
    conflicts: list[list[Assumption]] = field(default_factory=list)
    witnesses: list[list[Point]] = field(default_factory=list)
    command: str | None = None
    never: bool = False
    exact: list[bool] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    leaves: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain data (schema 1)."""
        return {
            "kind": "why-not",
            "name": str(self.goal),
            "reached": self.reached,
            "conflicts": [[a.as_json() for a in conflict] for conflict in self.conflicts],
            "never": self.never,
            "exact": self.exact,
            "command": self.command,
            "invented": self.invented,
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
    search = Search(resolution, goal)
    leaves = _false(resolution, goal)
    now = search.near.launch(search.assumed) or search.possible(search.assumed)
    if now is not None:
        draft = Draft(now.request)
        start = here(resolution).request
        command = suggest_command.command(resolution.resolver, start, draft, launcher, options)
        return WhyNot(goal, False, command=command, invented=_invented(resolution, now), leaves=leaves)
    anyhow, exact = search.ask([])
    if anyhow is None:
        return WhyNot(goal, False, never=True, exact=[exact], leaves=leaves)
    found = search.conflicts()
    return WhyNot(
        goal,
        False,
        [c.facts for c in found],
        [c.witnesses for c in found],
        exact=[c.exact for c in found],
        leaves=leaves,
    )


def _invented(resolution: Resolution, point: Point) -> list[str]:
    """Engine flags that the user did not give, and knobs that are never suggested or take any text."""
    mine, knobs = here(resolution).request, resolution.rules.knobs
    added = [knobs[name] for name in point.request.knobs if name not in mine.knobs]
    out = [knob.env for knob in added if knob.never_suggested or knob.type in FREE_TYPES]
    words = point.request.args
    for dest, start, _ in groups(resolution.engine, words):
        if dest is not None and dest not in resolution.passthrough.flags:
            out.append(words[start].partition("=")[0])
    return out


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
