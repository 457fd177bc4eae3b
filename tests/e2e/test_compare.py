"""Answers of two engines: what counts as a near-tie, and what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import machine  # noqa: F401  (the package makes e2e importable)

from e2e import compare  # isort: skip


def answer(*steps: dict[int, float]) -> dict[str, Any]:
    """An answer whose steps each list tokens with their log-probabilities; the likeliest was taken."""
    ordered = [sorted(([token, value] for token, value in step.items()), key=lambda x: -x[1]) for step in steps]
    return {"tokens": [int(step[0][0]) for step in ordered], "logprobs": ordered, "cached": 0}


SURE = {1: -0.1, 2: -3.0}


def test_equal_answers() -> None:
    found = compare.compare([answer(SURE, SURE)], [answer(SURE, {1: -0.1, 2: -3.25})])
    assert (found.answers, found.same, found.steps, found.differences) == (1, 1, 2, [])
    assert found.moves == pytest.approx([0.0, 0.25])


def test_a_near_tie_that_fell_to_the_other_side_is_explained() -> None:
    found = compare.compare(
        [answer({1: -0.1, 2: -3.0}, {5: -1.00, 6: -1.10})], [answer({1: -0.1, 2: -3.25}, {5: -1.05, 6: -1.0})]
    )
    assert found.differences == [(0, 1, pytest.approx(0.15), 5, 6)]
    assert found.unexplained() == []


def test_a_larger_move_than_any_seen_is_not() -> None:
    found = compare.compare(
        [answer({1: -0.1, 2: -3.0}, {5: -0.2, 6: -2.0})], [answer({1: -0.1, 2: -3.25}, {5: -1.5, 6: -0.3})]
    )
    assert [place for place, *_ in found.unexplained()] == [0]


def test_a_token_that_the_other_engine_did_not_think_of_is_not() -> None:
    found = compare.compare([answer(SURE, {5: -0.2, 6: -2.0})], [answer(SURE, {7: -0.3, 6: -2.0})])
    assert found.differences[0][2] == compare.UNSEEN
    assert len(found.unexplained()) == 1


def test_steps_behind_a_difference_are_not_compared() -> None:
    """From there on the two were given different tokens."""
    a = answer({5: -1.0, 6: -1.1}, {1: -0.1, 2: -9.0})
    b = answer({6: -1.0, 5: -1.1}, {1: -0.1, 2: -1.0})
    assert compare.compare([a], [b]).moves == []


def test_answers_that_one_did_not_finish_are_left_out() -> None:
    assert compare.compare([answer(SURE, SURE)], [answer(SURE)]).answers == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = answer(SURE, {5: -0.2, 6: -2.0}), answer(SURE, {7: -0.3, 6: -2.0})
    for name, text in (("a", good), ("b", good), ("c", bad)):
        (tmp_path / f"answers-{name}-mixed.json").write_text(json.dumps([text]))
    assert compare.main([str(tmp_path), "a", "b"]) == 0
    assert "1 of 1 answers the same" in capsys.readouterr().out
    assert compare.main([str(tmp_path), "a", "c"]) == 1
    assert "not explained: prompt 0, step 1: 5 against 7" in capsys.readouterr().out


def test_steps_that_were_asked_for_again_from_their_text() -> None:
    given = [answer(SURE, {5: -1.0, 6: -1.1}, SURE)]
    again = [
        {"place": 0, "step": 0, **answer({1: -0.1, 2: -3.25})},
        {"place": 0, "step": 1, **answer({6: -1.0, 5: -1.05})},
        {"place": 0, "step": 2, **answer({9: -0.1, 8: -3.0})},
    ]
    found = compare.compare_forced(given, again)
    assert (found.answers, found.same) == (3, 1)
    assert found.moves == pytest.approx([0.25])
    assert [(place, step) for place, step, *_ in found.differences] == [(0, 1), (0, 2)]
    assert [step for _, step, *_ in found.unexplained()] == [2]
