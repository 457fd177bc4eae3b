"""Batches: one JSON line in, one out, in order; a bad line never stops the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from resolver.cli.batch import Batch, one
from resolver.cli.options import Line
from tests.cli.conftest import REPO, SECRET, Cli


def answers(cli: Cli, lines: list[Any], *words: str, status: int | None = None) -> list[dict[str, Any]]:
    raw = b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    ran = cli.run("resolve", "--batch", "-", *words, stdin=raw)
    assert ran.err == ""
    if status is not None:
        assert ran.status == status, ran.out
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_batch_says_what_single_runs_say(cli: Cli) -> None:
    lines = [
        {"id": 1, "profile": "dflash2-long", "machine": "rtx-3090"},
        {"id": "two", "knobs": {"CTX": "long", "MAX_SEQS": 3, "TOOLS": False}, "machine": "rtx-4090"},
        {"id": None, "profile": "mtp-fast", "machine": "h200", "args": ["--seed", "7"], "engine": "0.31.0"},
    ]
    found = answers(cli, lines, status=0)
    words: list[tuple[str, ...]] = [
        ("--profile", "dflash2-long", "--machine", "rtx-3090"),
        ("CTX=long", "MAX_SEQS=3", "TOOLS=0", "--machine", "rtx-4090"),
        ("--profile", "mtp-fast", "--machine", "h200", "--engine", "0.31.0", "--", "--seed", "7"),
    ]
    for line, answer, single in zip(lines, found, words, strict=True):
        alone = json.loads(cli.run("resolve", "--json", *single).out)
        assert answer["id"] == line["id"]
        for key in ("ok", "argv", "env", "settings", "arm", "engine", "machine", "profile"):
            assert answer[key] == alone[key], key


def test_bad_lines_give_errors_and_the_rest_goes_on(cli: Cli) -> None:
    lines: list[Any] = [
        b"{",
        b"[1]",
        b'{"id": 3, "profil": "mtp-fast"}',
        {"id": 4, "profile": 5},
        {"id": 5, "knobs": {"CTX": ["long"]}},
        {"id": 6, "env": {"A": 1}},
        {"id": 7, "args": "--seed 7"},
        {"id": 8, "machine": "rtx-3091"},
        {"id": 9, "machine": {"facts": {"wsl": "perhaps"}}},
        {"id": 10, "engine": "9.9.9", "machine": "rtx-3090"},
        b"\xff",
        b"[" * 100_000,
        b"",
        {"id": 14, "profile": "mtp-fast", "machine": "rtx-3090"},
        {"id": 15, "profile": "mtp-fsat", "machine": "rtx-3090"},
    ]
    found = answers(cli, lines, status=2)
    assert len(found) == 14
    for number, answer in enumerate(found[:12], 1):
        assert (answer["ok"], answer["argv"], answer["line"]) == (False, None, number), answer
        assert answer["diagnostics"][0]["severity"] == "error"
        assert answer["diagnostics"][0]["message"]
    assert [a["id"] for a in found[2:10]] == [3, 4, 5, 6, 7, 8, 9, 10]
    assert "did you mean profile?" in found[2]["diagnostics"][0]["fix"]
    assert found[12]["ok"]
    assert not found[13]["ok"]
    assert found[13]["diagnostics"][0]["rule"] == "unknown-profile"


def test_the_status_is_that_of_the_worst_line(cli: Cli) -> None:
    good, refused = {"machine": "rtx-3090"}, {"machine": "rtx-3090", "knobs": {"CTX": "x"}}
    answers(cli, [good], status=0)
    answers(cli, [good, refused, good], status=1)
    answers(cli, [good, b"x", refused], status=2)
    answers(cli, [], status=0)


def test_inline_machines_and_a_default_one(cli: Cli) -> None:
    machine = {"facts": {"device": "cuda", "gpu": {"capability": "8.9", "count": 1}}, "engine": {"version": "0.31.0"}}
    found = answers(
        cli, [{"profile": "mtp-fast", "machine": machine}, {"profile": "mtp-fast"}], "--machine", "h200", status=0
    )
    assert [a["machine"] for a in found] == ["inline", "h200"]
    assert found[0]["engine"] == "0.31.0"


def test_the_callers_environment_is_no_part_of_a_request(cli: Cli) -> None:
    ran = cli.run("resolve", "--batch", "-", "--machine", "rtx-3090", stdin=b"{}\n", env={"CTX": "long"})
    assert json.loads(ran.out)["settings"]["kv_cache_dtype"] == "bfloat16"


def test_no_secret_of_a_request_comes_out(cli: Cli) -> None:
    line = {
        "machine": "rtx-3090",
        "env": {"VLLM_API_KEY": SECRET, "HF_TOKEN": SECRET},
        "knobs": {"EXTRA_ARGS": f"--hf-token {SECRET}"},
        "args": ["--api-key", SECRET],
    }
    (found,) = answers(cli, [line], status=0)
    assert found["api_key"] == "environment"
    (found,) = answers(cli, [{"machine": "rtx-3090", "knobs": {"VLLM_API_KEY": SECRET}}], status=0)
    assert found["api_key"] == "environment"


def test_a_file_and_an_env_file(cli: Cli, tmp_path: Path) -> None:
    file, env = tmp_path / "requests.jsonl", tmp_path / "env"
    file.write_bytes(
        b'\xef\xbb\xbf{"machine": "rtx-3090", "id": 1}\n\n{"machine": "rtx-3090", "env": {"MAX_SEQS": "5"}}'
    )
    env.write_text("MAX_SEQS=4\n")
    ran = cli.run("resolve", "--batch", str(file), "--env-file", str(env))
    assert ran.status == 0, ran.all
    assert [json.loads(line)["settings"]["max_num_seqs"] for line in ran.out.splitlines()] == [4, 5]
    assert cli.run("resolve", "--batch", str(tmp_path)).status == 2


def test_an_answer_comes_before_the_next_request(cli: Cli) -> None:
    """A program may talk to a batch line by line."""
    words = [sys.executable, str(REPO / "launch.py"), "resolve", "--batch", "-", "--machine", "rtx-3090"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cli.environ()) as process:
        assert process.stdin
        assert process.stdout
        for number in range(3):
            process.stdin.write(json.dumps({"id": number}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("value", [1.5, 10**30, True, "x", None])
def test_any_scalar_is_a_knobs_value(cli: Cli, value: object) -> None:
    (found,) = answers(cli, [{"machine": "rtx-3090", "knobs": {"MAX_SEQS": value}}])
    assert found["ok"] == (value is None)


def test_the_bench_figure_is_a_rate() -> None:
    from tests.cli.speed import batch_rate

    assert batch_rate(50).wall > 100


@pytest.mark.parametrize(
    ("args", "knobs", "flags"),
    [
        (["--seed", "7"], {}, ["--seed", "7"]),
        (["MAX_SEQS=4"], {"MAX_SEQS": "4"}, []),
        (["MAX_SEQS=4", "--", "--seed", "7"], {"MAX_SEQS": "4"}, ["--seed", "7"]),
        (["MAX_SEQS=4", "--seed=3"], {"MAX_SEQS": "4"}, ["--seed=3"]),
        (
            ["--profile", "mtp-long", "MAX_SEQS=4", "--", "--seed", "7"],
            {"CTX": "long", "MAX_SEQS": "4"},
            ["--seed", "7"],
        ),
    ],
)
def test_args_are_words_as_typed(args: list[str], knobs: dict[str, str], flags: list[str]) -> None:
    """A request's `args` mean what they mean on the command line; without `--`, foreign flags go to the engine."""
    request = {"profile": "mtp-fast", "machine": "rtx-3090", "args": args}
    result = Batch(Line()).answer(request)
    assert result["ok"]
    assert knobs.items() <= result["knobs"].items()
    assert result["argv"][-2 - len(flags) : -2] == flags


@pytest.mark.parametrize("args", [["stray", "--"], ["--json", "--"], ["--profile"], ["NOT_A_KNOB=1"]])
def test_args_that_mean_nothing(args: list[str]) -> None:
    status, result = one(Batch(Line()), 1, json.dumps({"machine": "rtx-3090", "args": args}).encode())
    assert status != 0
    assert not result["ok"]
    assert len([d for d in result["diagnostics"] if d["severity"] in ("error", "refuse")]) == 1
