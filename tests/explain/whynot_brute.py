"""Launches in which given assumptions hold and all else is anything: what no conflict may leave. None of it comes from the search."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from resolver.conditions import leaves
from resolver.diagnostics import UsageError
from resolver.engine import overlays, versions
from resolver.knobs import Given
from resolver.machines import names
from resolver.model import Example
from resolver.resolution import Resolution
from resolver.views.whynot import Goal
from resolver.views.whynot_points import Assumption, Point, assumptions, example_point, mixed
from tests.explain.requests import ARGS, ask, machine, resolver
from tests.golden import cases

CAPABILITIES = ("8.0", "8.6", "8.9", "9.0", "12.0", None)
TRIED: dict[str, tuple[str | None, ...]] = {
    "ctx": ("fast", "long", "huge"),
    "spec": ("mtp", "dflash2", "off"),
    "backend": (None, "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "CUSTOM", "FLEX_ATTENTION"),
    "pth_fa": (None, "0", "1"),
    "fa2_fp8kv": (None, "0", "1"),
    "draft_tokens": (None, "3"),
    "dflash_tokens": (None, "7"),
    "prefix_cache": (None, "0"),
    "max_len": (None, "8192", "100000"),
    "kv_mem": (None, "", "5000000000"),
    "max_seqs": (None, "1"),
    "gpu_util": (None, "0.9"),
}
"""What brute force gives to the knobs that choose arms, and to those that refusals read most."""


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
    passed = resolver().resolve(point.request, point.machine, point.engine).passthrough
    return bool(passed.last.get(assumption.name) == resolution.passthrough.last.get(assumption.name))


@lru_cache(maxsize=1)
def examples() -> tuple[Example, ...]:
    """Every example of the rules: launches taken and passed over, refused and not."""
    rules = resolver().rules
    found = [e for arm in rules.arms.values() for e in (*arm.taken, *arm.passed_over)]
    return tuple(found + [e for guard in rules.guards.values() for e in (*guard.fires, *guard.silent)])


@lru_cache(maxsize=1)
def recorded() -> tuple[Point, ...]:
    """The recorded launches of the launcher before this one that it would have started."""
    found = []
    for path in sorted(cases.DATA.iterdir()):
        for case in cases.read(path):
            if case.argv is not None:
                found.append(Point(cases.request(resolver(), case), cases.machine(case), cases.ENGINE))
    return tuple(found)


@lru_cache(maxsize=1)
def engines() -> tuple[str, ...]:
    """Every version, bare and with what no plugin brings; what plugins bring comes with them."""
    brought = {overlay for overlay, _ in resolver().rules.plugin_overlays.values()}
    found = []
    for version in versions(resolver().root):
        for overlay in (None, *overlays(resolver().root)):
            if overlay in brought:
                continue
            name = version if overlay is None else f"{version}+{overlay}"
            try:
                found.append(resolver().engine(name).name)
            except UsageError:  # an overlay of another version
                continue
    return tuple(found)


def base(rng: random.Random) -> Point:
    """One launch of the rules' examples, of the records, or of a profile on a machine."""
    kind = rng.random()
    if kind < 0.6:
        return example_point(ask("mtp-fast"), rng.choice(examples()))
    if kind < 0.8:
        return rng.choice(recorded())
    on = machine(rng.choice(names(resolver().root)))
    made = ask(rng.choice(list(resolver().rules.profiles)), on=on.name)
    return Point(made.request, on, made.engine.name)


def cell(goal: Goal) -> dict[str, tuple[str, ...]]:
    """The texts of CTX and SPEC that an arm is for."""
    found = {}
    if goal.arm:
        for leaf in leaves(resolver().rules.arms[goal.arm].when):
            if leaf.name in ("ctx", "spec") and leaf.op == "is":
                found[leaf.name] = tuple(map(str, leaf.operand))
    return found


def others(
    resolution: Resolution, goal: Goal, conflict: Sequence[Assumption], tries: int, rng: random.Random
) -> Iterator[Point]:
    """Launches in which the conflict holds, mostly in the arm's own cell; everything else is drawn."""
    held = {(a.kind, a.name) for a in conflict}
    assumed = assumptions(resolution)
    wanted = cell(goal)
    for _ in range(tries):
        start = base(rng)
        if rng.random() < 0.3:
            start = replace(start, engine=rng.choice(engines()))
        if not any(kind == "flag" for kind, _ in held):
            more = rng.choice(ARGS) if rng.random() < 0.1 else ()
            start = replace(start, request=replace(start.request, args=(*start.request.args, *more)))
        facts = dict(start.machine.facts)
        if rng.random() < 0.6:
            facts |= {"device": "cuda", "gpu.capability": rng.choice(CAPABILITIES)}
        if rng.random() < 0.5:
            plugins = resolver().rules.plugin_overlays
            facts["installed"] = tuple(p for p in plugins if rng.random() < 0.5)
        if goal.arm and goal.arm.endswith("cpu") and rng.random() < 0.8:
            facts["device"] = "cpu"
        start = replace(start, machine=replace(start.machine, facts={k: v for k, v in facts.items() if v is not None}))
        given = dict(start.request.knobs)
        for name, texts in TRIED.items():
            if rng.random() < (0.9 if name in wanted else 0.5):
                text = rng.choice(wanted.get(name, texts))
                given.pop(name, None)
                if text is not None:
                    given[name] = Given(text, "argument")
        start = replace(start, request=replace(start.request, knobs=given, profile=None))
        point = mixed(resolution, conflict, start, assumed)
        if all(holds_in(resolution, one, point) for one in conflict):
            yield point
