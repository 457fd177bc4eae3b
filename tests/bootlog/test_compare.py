"""A boot against the prediction: match, differs by how much, not in the log; and the boot as a data point."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from resolver.bootlog.compare import Line
from resolver.cli import dispatch
from resolver.diagnostics import UsageError
from tests.bootlog import logs
from tests.bootlog.test_read import CPU
from tests.fit.test_view import TINY


@pytest.mark.parametrize(
    ("predicted", "said", "answer"),
    [
        (448, 448, "match"),
        (448, 464, "differs by +16"),
        ((1.0, 2.0), 1.5, "match"),
        ((1.0, 2.0), 2.25, "differs by +0.25"),
        ((1.0, 2.0), 0.5, "differs by -0.50"),
        ((10, 10), 9, "differs by -1"),
        ("FLASH_ATTN", ["TRITON_ATTN", "FLASH_ATTN"], "match"),
        ("FLASH_ATTN", ["TRITON_ATTN"], "differs"),
        (448, None, "not in the log"),
        (None, 3, "not predicted"),
    ],
)
def test_answers(predicted: Any, said: Any, answer: str) -> None:
    assert Line("x", predicted, said).answer == answer


def run(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str], dict[str, Any]]:
    status = dispatch.main(["fit", *words, "--json"])
    data = json.loads(capsys.readouterr().out)
    return status, {row["name"]: row["answer"] for row in data["rows"]}, data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (logs.V028, ["--profile", "mtp-fast", "GPU_UTIL=0.9"]),
        (logs.V029, ["--profile", "mtp-fast", "GPU_UTIL=0.9"]),
        (logs.V030, ["--profile", "dflash2-fast"]),
        (logs.V033, ["--profile", "dflash2-long", "BACKEND=TRITON_ATTN"]),
    ],
    ids=["0.28", "0.29", "0.30", "0.33"],
)
def test_recorded_numbers_match(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str]
) -> None:
    log = tmp_path / "boot.log"
    log.write_text(text)
    words = [w.replace("BACKEND", "ATTENTION_BACKEND") for w in words]
    _, answers, data = run([*words, "--machine", "rtx-3090", "--from-log", str(log)], capsys)
    for name in ("longest request", "attention backend", "block", "pool tokens", "one request GiB"):
        assert answers[name] in ("match", "not in the log"), (name, data["rows"])
    assert answers["block"] == "match"


def test_what_differs_is_said_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "boot.log"
    log.write_text(logs.V032)
    status, answers, data = run(["--profile", "dflash2-fast", "--machine", "rtx-3090", "--from-log", str(log)], capsys)
    assert status == 1
    assert answers["pool tokens"] == "differs by +1,153"
    assert data["boot"] == {
        "figure": None,
        "ask": {"ctx": "fast", "spec": "dflash2"},
        "machine": "rtx-3090",
        "outcome": "dies",
        "tokens": 69758,
    }


def test_the_real_log_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    words = ["--profile", "cpu-tiny", "--machine", "cpu-only", f"MODEL={tmp_path}", "--from-log", str(CPU)]
    status, answers, _ = run(words, capsys)
    assert status == 0
    assert {name for name, answer in answers.items() if answer == "match"} == {
        "longest request",
        "pool GiB",
        "pool tokens",
    }
    assert dispatch.main(["fit", *words]) == 0
    assert "2,097,152      2,097,152   match" in capsys.readouterr().out


def test_files_that_are_no_log(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing of the kind\n")
    ask = ["fit", "--profile", "mtp-fast", "--machine", "rtx-3090", "--from-log"]
    with pytest.raises(UsageError, match="no boot log"):
        dispatch.main([*ask, str(other)])
    with pytest.raises(UsageError, match="cannot be read"):
        dispatch.main([*ask, str(tmp_path / "absent.log")])
