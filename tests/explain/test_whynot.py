"""Why-not: every conflict is minimal. Each subset of it leaves a launch that reaches the goal, and the whole leaves none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import pytest

from resolver.diagnostics import UsageError
from resolver.knobs import Given
from resolver.resolution import Resolution
from resolver.views.whynot import Goal, WhyNot, _Search, arm_goal, flag_goal, why_not
from resolver.views.whynot_points import Assumption, Point, assumptions, mixed
from tests.explain.requests import ask, refusals, resolver
from tests.explain.typing_it import typed

CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "12.0")
TRIED: dict[str, tuple[str | None, ...]] = {
    "ctx": ("fast", "long", "huge"),
    "spec": ("mtp", "dflash2", "off"),
    "backend": (None, "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "CUSTOM"),
    "pth_fa": (None, "0", "1"),
    "fa2_fp8kv": (None, "0", "1"),
}
"""What brute force gives to the knobs that choose arms."""


def holds_in(resolution: Resolution, assumption: Assumption, point: Point) -> bool:
    """Whether the point has the assumption as it is in the resolution: read anew, not as the search made it."""
    if assumption.kind == "knob":
        mine, its = resolution.request.knobs[assumption.name], point.request.knobs.get(assumption.name)
        return its is not None and its.text == mine.text
    if assumption.kind == "fact":
        return point.machine.facts.get(assumption.name) == resolution.machine.facts.get(assumption.name)
    if assumption.kind == "plugin":
        return (assumption.name in (point.machine.facts.get("installed") or ())) == (
            assumption.name in (resolution.machine.facts.get("installed") or ())
        )
    if assumption.kind == "engine":
        return resolver().engine(point.engine).name == resolution.engine.name
    if assumption.kind == "files":
        return point.machine.files is resolution.machine.files
    its = resolver().resolve(point.request, point.machine, point.engine).passthrough
    return its.last.get(assumption.name) == resolution.passthrough.last.get(assumption.name)


def check_minimal(resolution: Resolution, goal: Goal, found: WhyNot, tries: int, rng: random.Random) -> None:
    assert len(found.conflicts) == len(found.witnesses)
    search = _Search(resolution, goal)
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
        for point in others(resolution, search, conflict, tries, rng):
            again = resolver().resolve(point.request, point.machine, point.engine)
            assert not goal.reached(again), f"{goal} is reached although {[a.says for a in conflict]} holds"


def others(
    resolution: Resolution, search: _Search, conflict: list[Assumption], tries: int, rng: random.Random
) -> Iterator[Point]:
    """Brute force: launches in which the conflict holds and the rest is anything, arm knobs and capabilities all ways."""
    held = {(a.kind, a.name) for a in conflict}
    knobs = [(name, texts) for name, texts in TRIED.items() if ("knob", name) not in held]
    every = list(product(range(len(search.starts)), CAPABILITIES, *(texts for _, texts in knobs)))
    for at, capability, *texts in every if tries >= len(every) else rng.sample(every, tries):
        start = search.starts[at]
        point = mixed(resolution, conflict, start, search.assumed)
        given = dict(point.request.knobs)
        for (name, _), text in zip(knobs, texts, strict=True):
            given.pop(name, None)
            if text is not None:
                given[name] = Given(text, "argument")
        machine = point.machine
        if ("fact", "gpu.capability") not in held and ("fact", "device") not in held:
            machine = replace(machine, facts={**machine.facts, "gpu.capability": capability})
        yield replace(point, request=replace(point.request, knobs=given), machine=machine)


def sample(count: int, seed: int, tries: int) -> int:
    rng = random.Random(seed)
    arms = list(resolver().rules.arms)
    conflicts = 0
    for resolution in refusals(count, seed):
        goal = Goal(arm=rng.choice(arms))
        found = why_not(resolution, goal)
        assert found.conflicts or found.command or found.never, str(goal)
        assert not found.reached
        check_minimal(resolution, goal, found, tries, rng)
        if found.command is not None:
            check_command(resolution, goal, found.command)
        conflicts += len(found.conflicts)
    return conflicts


def check_command(resolution: Resolution, goal: Goal, command: str) -> None:
    if "***" in command or "$'" in command:
        return
    asked = resolution.request
    environ = dict(asked.environ if asked.caller is None else asked.caller)
    assert goal.reached(typed(command, environ, resolution)), command


def test_conflicts_of_random_refusals_are_minimal() -> None:
    assert sample(60, seed=41, tries=15) > 40


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_conflicts_of_500_random_refusals_are_minimal() -> None:
    assert sample(500, seed=42, tries=120) > 350


def said(resolution: Resolution, arm: str) -> list[list[str]]:
    return [[a.says for a in conflict] for conflict in why_not(resolution, arm_goal(resolution, arm)).conflicts]


def test_a_plugin_and_a_card_together() -> None:
    resolution = ask("dflash2-long", on="rtx-4090")
    assert said(resolution, "dflash2-long-flash-fp8") == [
        ["gpu.capability is 8.9", "the plugin fa2_fp8kv is not installed"]
    ]


def test_one_choice_alone() -> None:
    resolution = ask("mtp-fast")
    found = why_not(resolution, arm_goal(resolution, "mtp-huge-kvarn"))
    assert [[(a.says, a.origin.split(",")[0]) for a in c] for c in found.conflicts] == [
        [("CTX=fast", "profile mtp-fast")]
    ]
    assert [leaf["says"] for leaf in found.leaves] == ["CTX is huge"]
    assert found.leaves[0]["now"][0]["value"] == "fast"


def test_two_choices_that_exclude_each_other() -> None:
    resolution = ask(None, "SPEC=dflash2", "CTX=long", "KV_OFFLOAD_GB=4", "PTH_FA=1")
    assert said(resolution, "dflash2-long-custom-int8") == [["PTH_FA=1", "KV_OFFLOAD_GB=4"]] or said(
        resolution, "dflash2-long-custom-int8"
    ) == [["KV_OFFLOAD_GB=4", "PTH_FA=1"]]


def test_the_engine() -> None:
    resolution = ask("mtp-huge", on="rtx-3090-stock")
    assert said(resolution, "mtp-huge-kvarn") == [["the engine is vLLM 0.31.0"]]


def test_nothing_rules_it_out() -> None:
    resolution = ask("mtp-fast")
    found = why_not(resolution, arm_goal(resolution, "mtp-fast-triton-bf16"))
    assert found.command == "python launch.py --profile mtp-fast ATTENTION_BACKEND=TRITON_ATTN"
    assert why_not(resolution, arm_goal(resolution, "mtp-fast-flash-bf16")).reached


def test_a_flag() -> None:
    resolution = ask("dflash2-huge", "MAX_SEQS=4")
    found = why_not(resolution, flag_goal(resolution, "--max-num-seqs=2"))
    assert [[a.says for a in c] for c in found.conflicts] == [["MAX_SEQS=4"]]
    assert why_not(resolution, flag_goal(resolution, "max_num_seqs=4")).reached
    free = ask("mtp-long", on="rtx-4090")
    assert why_not(free, flag_goal(free, "max-num-seqs=3")).command == "python launch.py --profile mtp-long MAX_SEQS=3"


@pytest.mark.parametrize("wanted", ["max-num-seqs", "--no-such-flag=3", "=", "--seed=7"])
def test_what_cannot_be_wanted(wanted: str) -> None:
    with pytest.raises(UsageError):
        flag_goal(ask("mtp-fast"), wanted)


def test_an_arm_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="there is no arm"):
        arm_goal(ask("mtp-fast"), "mtp-fast-flash-bf61")


def test_no_secret_among_the_assumptions() -> None:
    resolution = ask("mtp-fast", args=("--api-key", "sk-one"), VLLM_API_KEY="sk-two", EXTRA_ARGS="--hf-token sk-three")
    assert "sk-" not in str(assumptions(resolution))


def test_a_profile_that_does_not_exist_is_not_in_the_command() -> None:
    resolution = ask("dflash2-lnog", "CTX=huge", "SPEC=mtp")
    goal = arm_goal(resolution, "mtp-huge-triton-int4")
    found = why_not(resolution, goal)
    assert found.command == "python launch.py CTX=huge SPEC=mtp ATTENTION_BACKEND=TRITON_ATTN"
    check_command(resolution, goal, found.command)
