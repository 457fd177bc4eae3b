"""Every law, first on the saved counterexamples, then on requests that hypothesis makes up."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import currently_in_test_context, example, given, note
from hypothesis import strategies as st

from resolver.resolve import Resolver
from tests.matrix import laws, rearranged, secrets_planted, strategies
from tests.matrix.asked import Asked, answer, product

CORPUS = Path(__file__).with_name("corpus.jsonl")
SAVED = [json.loads(line) for line in CORPUS.read_text(encoding="ascii").splitlines() if line]
KNOBS = sorted(product().rules.knobs)


def _hold(law: str, asked: Asked) -> None:
    """The law, with the counterexample as a line for corpus.jsonl where it fails; MATRIX_SAVE=1 keeps every one in new.jsonl."""
    try:
        laws.LAWS[law](asked)
    except Exception:
        _report(law, asked)
        raise


def _report(law: str, asked: Asked) -> None:
    line = json.dumps({"why": f"fails {law}", **json.loads(asked.as_line())})
    if currently_in_test_context():
        note(f"for corpus.jsonl: {line}")
    if os.environ.get("MATRIX_SAVE") == "1":
        with CORPUS.with_name("new.jsonl").open("a", encoding="ascii") as out:
            out.write(line + "\n")


@pytest.mark.parametrize("data", SAVED, ids=[f"{i}-{d['why'][:40].replace(' ', '-')}" for i, d in enumerate(SAVED, 1)])
def test_saved_counterexample(data: dict[str, object]) -> None:
    asked = Asked.from_data(data)
    for law in laws.LAWS:
        _hold(law, asked)
    secrets_planted.hidden(answer(asked))
    if knob := data.get("default_of"):
        laws.default_given(asked, str(knob))


@given(strategies.asked())
def test_law_1_total(asked: Asked) -> None:
    _hold("total", asked)


@given(strategies.asked())
def test_law_2_deterministic_and_independent_of_knob_order(asked: Asked) -> None:
    _hold("deterministic", asked)


BOTH = [("PREFIX_RETENTION", "1"), ("VLLM_PREFIX_CACHE_RETENTION_INTERVAL", "1")]
"""Two knobs behind one flag, which 0.28.0 does not have: the refusal names both."""


@pytest.fixture(scope="module", params=[rearranged.split, rearranged.joined], ids=["split", "joined-and-turned"])
def other_order(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    return rearranged.rearranged(tmp_path_factory.mktemp("rules"), request.param)


def test_law_2_independent_of_file_guard_and_knob_order(other_order: Resolver) -> None:
    @example(Asked(given=BOTH, machine="2x-rtx-3080-20gb", engine="0.28.0"))
    @given(strategies.asked())
    def check(asked: Asked) -> None:
        ours, theirs = answer(asked), answer(asked, other_order)
        laws.same(laws.outcome(ours), laws.outcome(theirs), asked.as_line())
        assert laws.said(ours) == laws.said(theirs)

    check()


@given(strategies.asked(wild_names=False))
def test_law_3_replay(asked: Asked) -> None:
    _hold("replay", asked)


@given(strategies.asked(wild_names=False), st.sampled_from(KNOBS))
def test_law_4_a_default_given_changes_nothing(asked: Asked, knob: str) -> None:
    laws.default_given(asked, knob)


@pytest.mark.parametrize("machine", [*strategies.SHIPPED, None])
def test_law_4_every_default_of_every_profile(machine: str | None) -> None:
    for profile in (None, *product().rules.profiles):
        for knob in KNOBS:
            laws.default_given(Asked(profile, machine=machine), knob)


@given(strategies.asked(), st.integers(0, 11), st.sampled_from(["refuse", "warn", "note"]), st.booleans(), st.randoms())
def test_law_5_a_new_guard_never_turns_a_refusal_into_a_launch(
    asked: Asked, which: int, severity: str, first: bool, random: object
) -> None:
    number = which * 53
    before, after = answer(asked), answer(asked, rearranged.with_guard(number, severity, first))  # type: ignore[arg-type]
    assert after.refused or not before.refused
    if severity != "refuse":
        assert after.refused == before.refused
    laws.same(
        {k: v for k, v in laws.outcome(before).items() if k != "refused"},
        {k: v for k, v in laws.outcome(after).items() if k != "refused"},
    )


@given(strategies.asked())
def test_law_7_everything_has_a_provenance(asked: Asked) -> None:
    _hold("provenance", asked)


@given(secrets_planted.planted())
def test_law_9_no_secret_is_shown(asked: Asked) -> None:
    secrets_planted.hidden(answer(asked))


@given(strategies.asked())
def test_compiled_rules_say_what_the_interpreter_says(asked: Asked) -> None:
    _hold("compiled", asked)
