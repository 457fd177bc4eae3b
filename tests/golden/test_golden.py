"""The recorded runs against the resolver, and what keeps the exemptions honest."""

from __future__ import annotations

import dataclasses
import re

import pytest

from resolver.compile import open_resolver
from resolver.resolve import Resolver
from tests.golden import cases
from tests.golden.cases import Case
from tests.golden.compare import compare
from tests.golden.exempt import applies, exempted_by, exemptions

FILES = sorted(cases.DATA.glob("*.jsonl.xz"))


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@pytest.fixture(scope="module")
def recorded() -> list[Case]:
    return [case for path in FILES for case in cases.read(path)]


def test_every_recorded_run_is_there(recorded: list[Case]) -> None:
    assert len(recorded) == 2703
    assert len({case.id for case in recorded}) == 2703


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.split(".")[0])
def test_recorded_runs_match(resolver: Resolver, path: object) -> None:
    wrong = []
    for case in cases.read(path):  # type: ignore[arg-type]
        outcome = compare(resolver, case)
        if outcome.differences and not exempted_by(case, outcome.differences):
            wrong.append((case.id, outcome.differences))
    assert wrong == []


def test_a_changed_record_is_noticed(resolver: Resolver, recorded: list[Case]) -> None:
    """Each compared part, changed in the record, makes the case differ: the comparison can fail."""
    case = next(c for c in recorded if c.resident and not c.inferred)
    argv = case.argv or ()
    changed = [
        dataclasses.replace(case, exit=1),
        dataclasses.replace(case, argv=(*argv[:-1], "31")),
        dataclasses.replace(case, argv=argv[:-1]),
        dataclasses.replace(case, argv=(argv[1], argv[0], *argv[2:])),
        dataclasses.replace(case, env={**case.env, "VLLM_NEW": "1"}),
        dataclasses.replace(case, env={k: v for k, v in case.env.items() if k != "VLLM_USE_FLASHINFER_SAMPLER"}),
        dataclasses.replace(case, spoke=case.spoke - {"R87"}),
        dataclasses.replace(case, spoke=case.spoke | {"R4"}),
        dataclasses.replace(case, resident={**(case.resident or {}), "low": 99}),
    ]
    assert compare(resolver, case).differences == []
    for other in changed:
        differences = compare(resolver, other).differences
        assert differences
        assert exempted_by(other, differences) is None


@pytest.mark.parametrize("name", sorted(exemptions()))
def test_an_exemption_needs_its_condition(recorded: list[Case], name: str) -> None:
    """No exemption covers a plain case, whatever differs."""
    plain = next(c for c in recorded if not c.knobs.get("EXTRA_ARGS") and "CG_MODE" not in c.knobs)
    assert not applies(plain, exemptions()[name]["condition"])


@pytest.mark.parametrize(
    ("pattern", "meaning"),
    [(r"-tp=(\d+)", r"--tensor-parallel-size \1")],
)
def test_exempted_spellings_mean_the_plain_one(
    resolver: Resolver, recorded: list[Case], pattern: str, meaning: str
) -> None:
    """An exempted case resolves like its plain spelling, word order of the flag aside."""
    seen = 0
    for case in recorded:
        extra = case.knobs.get("EXTRA_ARGS", "")
        if not re.search(pattern, extra):
            continue
        other = dataclasses.replace(case, knobs={**case.knobs, "EXTRA_ARGS": re.sub(pattern, meaning, extra)})
        ours, plain = (compare(resolver, c).resolution for c in (case, other))
        assert ours.state.setting_values == plain.state.setting_values
        assert ours.rendered.set_variables == plain.rendered.set_variables
        assert ours.refused == plain.refused
        seen += 1
    assert seen >= 10


def test_words_for_on_and_off_mean_one_and_zero(resolver: Resolver, recorded: list[Case]) -> None:
    words = {"yes": "1", "true": "1", "on": "1", "no": "0", "false": "0", "off": "0"}
    knobs = exemptions()["words-for-on-and-off"]["condition"]["knobs"]
    seen = 0
    for case in recorded:
        plain = {k: words.get(v, v) if k in knobs else v for k, v in case.knobs.items()}
        if plain == case.knobs:
            continue
        ours, other = (compare(resolver, dataclasses.replace(case, knobs=k)).resolution for k in (case.knobs, plain))
        assert ours.argv == other.argv
        assert ours.rendered.set_variables == other.rendered.set_variables
        seen += 1
    assert seen >= 10
