"""From refusals alone: ten refused commands, each of which reaches a working launch by typing its first printed suggestion."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from resolver.compile import product_root

TEN: list[tuple[dict[str, str], list[str]]] = [
    ({}, ["--machine", "rtx-3090", "--profile", "dflash2-long", "PTH_FA=1", "DFLASH_TOKENS=5"]),
    ({}, ["--machine", "rtx-3090-stock", "--profile", "mtp-huge"]),
    ({}, ["--machine", "rtx-4090", "--profile", "dflash2-lnog"]),
    ({}, ["--machine", "rtx-3090", "CTX=lnog", "SPEC=mpt"]),
    ({}, ["--machine", "rtx-3090", "--profile", "mtp-fast", "--", "--dtype", "half", "--seed", "7"]),
    ({"SPEC": "dflash2", "CTX": "huge", "DYNAMIC_K": "[[1,3,7],[4,512,3]]"}, ["--machine", "rtx-3090"]),
    ({"FA2_FP8KV": "1"}, ["--machine", "rtx-4090", "--profile", "dflash2-long"]),
    ({}, ["--machine", "cpu-only", "--profile", "dflash2-huge", "MAX_SEQS=lots"]),
    ({}, ["--machine", "rtx-3090", "--profile", "mtp-fast", "GPU_UTIL=93", "PORT=99999", "TOOLS=maybe", "SPEK=off"]),
    ({"EXTRA_ARGS": "--no-such-flag 3 --seed 7"}, ["--machine", "h200", "--profile", "mtp-long", "ATTENTION_BACKEND=CUSTOM"]),
]  # fmt: skip


def run(words: list[str] | str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    plain = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LAUNCH_CACHE_DIR", "XDG_CACHE_HOME", "LANG")}
    return subprocess.run(
        words,
        shell=isinstance(words, str),
        cwd=product_root(),
        env={**plain, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def launch(*words: str) -> list[str]:
    return [sys.executable, "launch.py", *words]


@pytest.mark.parametrize(("environ", "words"), TEN, ids=range(1, 11))
def test_the_printed_suggestion_works(environ: dict[str, str], words: list[str]) -> None:
    refused = run(launch("resolve", *words), environ)
    assert refused.returncode == 1, refused.stderr
    assert refused.stdout == ""
    suggested = [line.strip().removeprefix("1. ") for line in refused.stderr.splitlines() if line.startswith("  1. ")]
    assert suggested, refused.stderr
    accepted = run(suggested[-1], environ)
    assert accepted.returncode == 0, accepted.stderr
    assert "vllm serve" in accepted.stdout


def test_apply() -> None:
    words = ["--machine", "rtx-3090", "--profile", "dflash2-long", "PTH_FA=1", "DFLASH_TOKENS=5"]
    data = json.loads(run(launch("resolve", "--json", *words), {}).stdout)
    commands = [s["command"] for s in data["suggestions"]]
    assert len(commands) == 3
    for i, command in enumerate(commands, 1):
        applied = run(launch("resolve", "--apply", str(i), "--format", "argv", *words), {})
        assert applied.returncode == 0, applied.stderr
        assert "is applied" in applied.stderr
        typed = run(command.replace(" resolve ", " resolve --format argv "), {})
        assert typed.stdout == applied.stdout
    printed = run(launch("--apply", "1", *words), {"PRINT_ARGV": "1"})
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.split("\n")[1] == "serve"


@pytest.mark.parametrize("number", ["0", "4", "x", "-1"])
def test_what_cannot_be_applied(number: str) -> None:
    done = run(launch("resolve", f"--apply={number}", "--machine", "rtx-3090", "--profile", "mtp-fast", "PTH_FA=1"), {})
    assert done.returncode == 2
    assert "--apply" in done.stderr


def test_nothing_to_apply() -> None:
    done = run(launch("resolve", "--apply", "1", "--machine", "rtx-3090", "--profile", "mtp-fast"), {})
    assert done.returncode == 0
    assert "nothing is refused" in done.stderr
    assert json.loads(run(launch("resolve", "--json", "--machine", "rtx-3090", "--profile", "mtp-fast"), {}).stdout)["suggestions"] == []  # fmt: skip
