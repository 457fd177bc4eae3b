"""Read profiles.yaml: the profiles, and the arms with the guards that their `needs` stand for."""

from __future__ import annotations

from typing import Any

from resolver.conditions import ALWAYS, All, Condition, Leaf, Not, Path
from resolver.load import beside_arms
from resolver.load.collect import Collector, text_of, words
from resolver.load.examples import read_examples
from resolver.model import Arm, Guard, Profile
from resolver.yaml12 import Document


def read_profiles(document: Document) -> dict[str, Profile]:
    """Every profile, by name."""
    return {
        name: Profile(
            name,
            data["help"],
            {k: text_of(v) for k, v in data["knobs"].items()},
            document.position(("profiles", name), key=True),
        )
        for name, data in document.data["profiles"].items()
    }


def read_arms(document: Document, collect: Collector) -> tuple[dict[str, Arm], list[Guard]]:
    """Every arm in file order, and one guard for each thing an arm needs."""
    arms: dict[str, Arm] = {}
    guards: list[Guard] = []
    for name, data in document.data["arms"].items():
        path: Path = ("arms", name)
        arm = _arm(document, name, data, path, collect)
        arms[name] = arm
        needs = data.get("needs", [])
        for i, need in enumerate([{"is": needs}] if isinstance(needs, dict) else needs):
            where = (*path, "needs") if isinstance(needs, dict) else (*path, "needs", i)
            guards.append(_need(document, arm, need, where, i, collect))
    beside_arms.check_ids(document.data["arms"], document, collect)
    return arms, guards


def _arm(document: Document, name: str, data: dict[str, Any], path: Path, collect: Collector) -> Arm:
    def condition(key: str) -> Condition | None:
        return collect.condition(document, data[key], (*path, key)) if key in data else None

    position = document.position(path, key=True)
    examples = data.get("examples", {})
    if not examples.get("taken"):
        collect.fail("arm", f"{name}: missing example: taken", position, "add `examples: {taken: [...]}`")
    if not examples.get("passed_over"):
        collect.fail("arm", f"{name}: missing example: passed_over", position, "add `examples: {passed_over: [...]}`")
    when = condition("when") or ALWAYS
    capabilities = _capabilities(when)
    for capability in map(str, data.get("measured", {})):
        if capability not in capabilities:
            collect.fail(
                "arm",
                f"{name}: measured on {capability}, which its `when` does not cover",
                document.position((*path, "measured")),
            )
    return Arm(
        name=name,
        help=data["help"],
        when=when,
        position=position,
        sets={k: collect.expression(document, v, (*path, "sets", k)) for k, v in data["sets"].items()},
        chosen_by=condition("chosen_by"),
        eligible=condition("eligible"),
        capabilities=capabilities,
        measured=beside_arms.read_measured(document, data, path, capabilities, collect),
        figures=beside_arms.read_ids(document, data, path, collect),
        origins=words(data.get("origin")),
        taken=read_examples(document, examples.get("taken"), (*path, "examples", "taken")),
        passed_over=read_examples(document, examples.get("passed_over"), (*path, "examples", "passed_over")),
    )


def _capabilities(when: Condition) -> tuple[str, ...]:
    """The GPU capabilities that an arm lists in its `when`."""
    found: list[str] = []

    def walk(condition: Condition) -> None:
        if isinstance(condition, Leaf):
            if condition.name == "gpu.capability" and condition.op == "is":
                found.extend(str(item) for item in condition.operand)
        elif not isinstance(condition, Not):
            for part in condition.parts:
                walk(part)

    walk(when)
    return tuple(found)


def _need(document: Document, arm: Arm, need: dict[str, Any], path: Path, index: int, collect: Collector) -> Guard:
    is_path = path if path[-1] == "needs" else (*path, "is")
    wanted = collect.condition(document, need["is"], is_path) or ALWAYS
    stated = ", ".join(f"{k}: {v}" for k, v in need["is"].items())
    return Guard(
        id=f"{arm.name}-without-what-it-needs" + (f"-{index + 1}" if index else ""),
        severity="refuse",
        reason=need.get("because", f"arm {arm.name} needs {stated}"),
        when=All((Leaf("arm", "is", (arm.name,), path), Not(wanted))),
        position=document.position(path),
        fix=need.get("fix", f"provide it ({stated}), or choose another arm"),
        origins=words(need.get("origin")),
        arm=arm.name,
    )
