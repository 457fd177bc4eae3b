"""`launch.py figures`: what it prints, compares, draws and writes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from resolver.cli import dispatch
from resolver.diagnostics import UsageError
from resolver.measure import ledger
from resolver.views.evidence import Evidence
from tests.views.figures_kept import ROOT, kept, on, speed


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("LAUNCH_STATE_DIR", str(tmp_path))

    def call(*words: str) -> SimpleNamespace:
        status = dispatch.main(["figures", *words])
        said = capsys.readouterr()
        return SimpleNamespace(status=status, out=said.out, err=said.err)

    return call


def test_it_is_short_and_says_how_to_see_all(run: Any, evidence: Evidence) -> None:
    short = run()
    assert short.status == 0
    assert len(short.out.splitlines()) < 40
    assert f"the first 20 of {len(evidence.figures)} figures that fit; see all with --all" in short.out
    assert len(run("--all", "--metric", "decode_tok_s").out.splitlines()) > 100
    few = run("--arm", "off-huge-kvarn")
    assert "see all" not in few.out
    assert len(json.loads(run("--json", "--metric", "decode_tok_s").out)) > 100, "data is for programs: all of it"


def test_the_ledger_of_the_state_folder_is_read(run: Any, tmp_path: Path) -> None:
    book = kept(tmp_path, (speed(low=69, high=71, spread="min-max"), on()))
    out = run("--arm", "mtp-long-fp8").out.splitlines()
    assert out[1].startswith(book.records[0].id)
    assert "70 (69 to 71, min-max) tok/s" in out[1]
    elsewhere = tmp_path / "other.jsonl"
    ledger.append(elsewhere, [speed(33)], on())
    found = json.loads(run("--ledger", str(elsewhere), "--json", "--find", "ledger mtp-long-fp8").out)
    assert [f["value"] for f in found] == [33]
    assert found[0]["stale"]["stale"] is not None
    with pytest.raises(UsageError, match="there is no ledger"):
        run("--ledger", str(tmp_path / "nowhere"))


def test_a_damaged_line_is_told_of(run: Any, tmp_path: Path) -> None:
    book = kept(tmp_path, (speed(), on()))
    with open(book.path, "ab") as file:
        file.write(b'{"schema": 1, "id": "half')
    found = run("--arm", "mtp-long-fp8")
    assert f"note: {book.path}:2:1: the last line was cut" in found.err
    assert book.records[0].id in found.out


def test_stale_ones_are_marked_and_found(run: Any, tmp_path: Path) -> None:
    kept(tmp_path, (speed(), on(engine="0.30.0")))
    assert "measured, stale: engine 0.30.0, now" in run("--arm", "mtp-long-fp8", "--find", "ledger").out
    assert "engine 0.30.0" in run("--stale", "--find", "ledger").out
    assert "no figure fits" in run("--stale", "--find", "ledger", "--engine", "0.31").err


def test_two_are_compared_on_the_command_line(run: Any) -> None:
    out = run("--compare", "g-esc-depth-8k-fp8", "g-esc-depth-60k-fp8").out
    assert "g-esc-depth-60k-fp8 is 0.865 times g-esc-depth-8k-fp8" in out
    data = json.loads(run("--compare", "g-esc-depth-8k-fp8", "g-esc-depth-60k-fp8", "--json").out)
    assert data["differ"] == [{"fact": "context tokens", "values": ["8000", "60,000"]}]
    for words in (("--compare",), ("--compare", "a"), ("--compare", "a", "--json")):
        with pytest.raises(UsageError, match="--compare needs two figures"):
            run(*words)


def test_a_picture_from_the_command_line(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    path = tmp_path / "speed.svg"
    found = run("--hardware", "3090", "--plot", str(path))
    assert found.status == 0
    assert found.out == ""
    assert "figures of decode_tok_s over context" in found.err
    assert path.read_bytes().startswith(b"<?xml")


def test_the_ledger_becomes_evidence_from_the_command_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = kept(tmp_path, (speed(1), on()), (speed(2, 60000), on()), (speed(3), on("PTH_FA=1")))
    asked: list[Any] = []

    def write(path: Path, arm: str, records: list[ledger.Record]) -> list[str]:
        asked.append((path, arm, [record.id for record in records]))
        return [record.id for record in records]

    monkeypatch.setattr("resolver.measure.into.write", write)
    arm, first = "mtp-long-fp8", book.records[0]
    said = run("--into", arm, "--arm", arm, "--context", "112k").err
    assert asked == [(ROOT / "profiles.yaml", arm, [first.id])]
    assert said.startswith("written beside mtp-long-fp8 in ")
    assert said.endswith(f": {first.id}\n")
    with pytest.raises(UsageError, match="nothing in the ledger"):
        run("--into", arm, "--find", "sunshine")


def test_arms_are_offered_for_into() -> None:
    from resolver.cli.complete import candidates

    assert [word for word, _ in candidates(["measure", "--into", "off-huge-k"])] == ["off-huge-kvarn"]
    assert "--compare" in [word for word, _ in candidates(["figures", "--"])]
