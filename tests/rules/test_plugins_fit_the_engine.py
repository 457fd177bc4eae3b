"""A plugin counts only where its overlay is for the engine: no arm takes what is installed for another vLLM."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from resolver import conditions
from resolver.compile import open_resolver, product_root
from resolver.engine import versions
from resolver.machines import load_machine, with_facts
from resolver.model import Arm, Example
from resolver.request import build
from resolver.resolution import Resolution

ROOT = product_root()
RESOLVER = open_resolver()
RULES = RESOLVER.rules
MADE_FOR = RULES.plugin_overlays


def plugins_of(condition: conditions.Condition | None) -> set[str]:
    leaves = conditions.leaves(condition) if condition is not None else ()
    return {str(item) for leaf in leaves if leaf.name == "installed" for item in leaf.operand}


def needs_of(arm: Arm) -> set[str]:
    """The plugins that the arm's needs name."""
    return {p for g in RULES.guards.values() if g.arm == arm.name for p in plugins_of(g.when)}


ON_PLUGINS = {name: found for name, arm in RULES.arms.items() if (found := needs_of(arm) | plugins_of(arm.eligible))}
UNFIT = [
    (name, version)
    for name, plugins in ON_PLUGINS.items()
    for version in versions(ROOT)
    if not any(version in MADE_FOR[p][1] for p in plugins)
]


def launch(example: Example, version: str, installed: tuple[str, ...]) -> Resolution:
    machine = load_machine(ROOT, example.machine or "rtx-3090")
    machine = with_facts(ROOT, machine, {**(example.with_facts or {}), "installed": list(installed)})
    knobs = [(name, text, "test") for name, text in example.knobs.items()]
    asked = build(RULES, RESOLVER.table, profile=example.profile, assignments=knobs, args=example.args)
    return RESOLVER.resolve(asked, machine, version)


def unmet(resolution: Resolution) -> list[str]:
    return [d.rule for d in resolution.diagnostics if "-without-what-it-needs" in (d.rule or "")]


def on_all_plugins(arm: str, version: str) -> Iterator[tuple[Example, Resolution]]:
    for example in (*RULES.arms[arm].taken, *RULES.arms[arm].passed_over):
        yield example, launch(example, version, tuple(MADE_FOR))


def test_there_is_something_to_ask() -> None:
    assert {"dflash2-long-flash-fp8", "mtp-long-custom-int8", "off-fast-custom-bf16"} <= set(ON_PLUGINS)
    assert {v for _, v in UNFIT} == set(versions(ROOT)) - {"0.31.0"}


@pytest.mark.parametrize(("arm", "version"), UNFIT)
def test_no_launch_takes_the_arm_on_a_plugin_for_another_engine(arm: str, version: str) -> None:
    for example, resolution in on_all_plugins(arm, version):
        stock = launch(example, version, ())
        alike = resolution.setting("arm") == stock.setting("arm")
        assert alike, f"{example}: a plugin for another engine chose the arm"
        assert bool(unmet(resolution)) == bool(unmet(stock)), f"{example}: a plugin for another engine met a need"


@pytest.mark.parametrize("arm", [name for name in ON_PLUGINS if needs_of(RULES.arms[name])])
def test_the_refusal_names_the_engine_and_its_fix_works(arm: str) -> None:
    refused = [(e, r) for e, r in on_all_plugins(arm, "0.28.0") if unmet(r) and r.setting("arm") == arm]
    assert refused
    for example, resolution in refused:
        said = [d for d in resolution.diagnostics if d.rule in unmet(resolution)]
        assert len(said) == 1, "a plugin is missing, or it is for another engine: not both"
        assert said[0].message.endswith("not made for vLLM 0.28.0")
        named = re.findall(r"\d+\.\d+\.\d+", said[0].fix or "")
        assert set(named) == {v for p in ON_PLUGINS[arm] for v in MADE_FOR[p][1]}
        assert not unmet(launch(example, named[0], tuple(MADE_FOR)))
