"""The fuzzing run: it counts, finds a planted fault, saves it small, and goes on with the other laws."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.matrix import fuzz, laws
from tests.matrix.asked import Asked, answer
from tests.matrix.fuzz import Fuzz, Reached, main


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "ROUND", 30)


def test_a_planted_fault_is_found_and_saved_small(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses_nothing(asked: Asked) -> None:
        assert not answer(asked).refused

    only: dict[str, Callable[[Asked], None]] = {"planted": refuses_nothing, "total": laws.total}
    run = Fuzz(None, tmp_path / "new.jsonl")
    monkeypatch.setattr(run, "all_laws", lambda: only)
    report = run.run(0.05, 1)
    assert set(report.broken) == {"planted"}
    saved = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert len(saved) == 1
    assert saved[0].pop("why") == "fails planted"
    assert answer(Asked.from_data(saved[0])).refused
    assert len(json.dumps(saved[0])) < 200
    assert report.examples["total"] > 0
    assert "BROKEN: law planted" in report.text()


def test_a_clean_run_reports_what_it_did(tmp_path: Path, few: None) -> None:
    run = Fuzz(Reached.beyond_the_suite(), tmp_path / "new.jsonl")
    report = run.run(0.03, 2)
    assert not report.broken
    assert not (tmp_path / "new.jsonl").exists()
    assert 0 < report.launches < sum(report.examples.values())
    assert "a second" in report.text()
    assert run.reached is not None
    assert "never seen" in run.reached.text()


def test_what_was_not_reached_is_noticed_when_it_is() -> None:
    seen = answer(Asked("mtp-fast", machine="rtx-3090"))
    row = seen.state.rows[seen.resolver.number["max_num_seqs"]]
    reached = Reached({("max_num_seqs", row)}, {}, {})
    reached.see(seen)
    assert reached.new == [f"row max_num_seqs[{row + 1}] taken"]
    assert not reached.rows
    assert reached.situations == 1
    reached.see(seen)
    assert reached.situations == 1


@pytest.mark.parametrize("words", [[], ["x"], ["0"], ["-1"], ["1", "y"], ["nan"]])
def test_bad_words_are_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage" in capsys.readouterr().err
