"""Real boots on a GPU: excerpts of the logs of an H200, compared with what `fit` predicts of the same launches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver.bootlog.read import read_file
from resolver.cli import dispatch
from tests.e2e.machine import h200

from e2e import launches, models  # isort: skip  (tests.e2e makes it importable)

DATA = Path(__file__).parent / "data"
BOOTS = [path.name.removeprefix("h200-").removesuffix("-0.31.0.log") for path in sorted(DATA.glob("h200-*.log"))]
EXACT = ("longest request", "attention backend", "block", "pool tokens", "largest capture")


@pytest.mark.parametrize("name", BOOTS)
def test_everything_that_was_predicted_is_in_the_log(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models.make(tmp_path)
    log = DATA / f"h200-{name}-0.31.0.log"
    words = launches.words(launches.ALL[name], tmp_path)
    status = dispatch.main(["fit", "--json", "--from-log", str(log), "--machine", h200(tmp_path), *words])
    answers = {row["name"]: row["answer"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert {what: answers[what] for what in EXACT} == dict.fromkeys(EXACT, "match")
    assert status == 0, answers


def test_there_are_boots_of_each_kind() -> None:
    assert {"off-custom-int8", "mtp3-custom-int8", "mtp3-flash-bf16", "dflash7-custom-int8"} <= set(BOOTS)


def test_a_server_that_took_requests_runs() -> None:
    """Started by `launch.py` itself; the others were booted in the process that stepped them, which says nothing of a server."""
    boot = read_file(DATA / "h200-served-custom-int8-0.31.0.log")
    assert (boot.version, boot.outcome, boot.said["backends"]) == ("0.31.0", "runs", ["CUSTOM"])


def test_the_length_is_the_targets_and_not_the_drafters() -> None:
    """The engine says `Using max model len` of both, the drafter's last and before it is cut down."""
    boot = read_file(DATA / "h200-mtp3-custom-int8-0.31.0.log")
    assert "Using max model len 262144" in (DATA / "h200-mtp3-custom-int8-0.31.0.log").read_text()
    assert boot.said["max_model_len"] == 131072


def test_another_launch_than_the_one_that_booted_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models.make(tmp_path)
    log = DATA / "h200-mtp3-custom-int8-0.31.0.log"
    words = launches.words(launches.ALL["off-custom-int8"], tmp_path)
    status = dispatch.main(["fit", "--json", "--from-log", str(log), "--machine", h200(tmp_path), *words])
    answers = {row["name"]: row["answer"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert status == 1
    assert answers["block"] == "differs by +16"
    assert answers["pool tokens"].startswith("differs by -")
