"""Configurations that people ran are not refused: each launch of known_good.yaml, on the machine and engine it was measured on."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.compile import open_resolver, product_root
from resolver.load.collect import text_of
from resolver.machines import load_machine, with_facts
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from resolver.views.evidence import load_evidence
from resolver.yaml12 import read

ROOT = product_root()
DATA = read(ROOT / "tests" / "matrix" / "known_good.yaml").data
LAUNCHES: dict[str, dict[str, Any]] = DATA["launches"]


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def resolve(resolver: Resolver, launch: dict[str, Any]) -> Resolution:
    """The launch, on its machine and engine."""
    described = DATA["machines"].get(launch["machine"], {"machine": launch["machine"]})
    machine = with_facts(ROOT, load_machine(ROOT, described["machine"]), described.get("with", {}))
    request = build(
        resolver.rules,
        resolver.table,
        profile=launch["profile"],
        assignments=[(name, text_of(value), name) for name, value in launch.get("knobs", {}).items()],
        args=launch.get("args", ()),
    )
    return resolver.resolve(request, machine, launch.get("engine"))


def test_there_are_enough_of_them(resolver: Resolver) -> None:
    assert len(LAUNCHES) >= 40
    measured = {arm.name for arm in resolver.rules.arms.values() if arm.measured}
    taken = {resolve(resolver, launch).setting("arm") for launch in LAUNCHES.values()}
    assert measured <= taken, "an arm that was measured is among them"


@pytest.mark.parametrize("name", LAUNCHES)
def test_it_is_not_refused(resolver: Resolver, name: str) -> None:
    resolution = resolve(resolver, LAUNCHES[name])
    assert [d.message for d in resolution.diagnostics if d.severity in ("refuse", "error")] == []
    assert not resolution.refused
    if "arm" in LAUNCHES[name]:
        assert resolution.setting("arm") == LAUNCHES[name]["arm"]


@pytest.mark.parametrize("name", LAUNCHES)
def test_its_figures_are_of_its_machine_and_engine(resolver: Resolver, name: str) -> None:
    evidence, launch = load_evidence(ROOT), LAUNCHES[name]
    resolution = resolve(resolver, launch)
    for id in launch["figures"]:
        figure = evidence.figures[id]
        if figure.hardware:
            hardware = evidence.hardware[figure.hardware]
            assert hardware.get("capability") in (None, resolution.facts["gpu.capability"]), id
            assert hardware["gpus"] == resolution.facts["gpu.count"], id
        if figure.platform in ("wsl2", "native"):
            assert (resolution.setting("on_wsl") == "on") == (figure.platform == "wsl2"), id
        if figure.engine and figure.engine != resolution.engine.version:
            assert "because" in launch or figure.engine == "0.27.1" or len(launch["figures"]) > 1, (
                f"{id} ran on {figure.engine}"
            )
        for part in ("spec", "ctx"):
            if part in figure.setup and "because" not in launch and "mode" not in figure.setup:
                given = resolution.lookup(part)
                assert given == figure.setup[part] or (given == "none" and figure.setup[part] == "off"), id
        if "draft_tokens" in figure.setup:
            assert resolution.setting("num_speculative_tokens") == figure.setup["draft_tokens"], id
        if "tensor_parallel" in figure.setup:
            assert resolution.setting("tensor_parallel_size") == figure.setup["tensor_parallel"], id
