"""`launch.py accept` with a stand-in for vLLM: what is accepted, what is not and why, and what is kept of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.serving_cli import REPO, free_port, until
from tests.serving.switch_cli import Bench
from tests.serving.test_verdicts import DAMAGED, damage

KEY = "sk-do-not-show-me-1234"
ACCEPT = ("accept", "--profile", "cpu-tiny")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.end()


def kept(bench: Bench) -> list[dict[str, Any]]:
    """The verdicts in the state folder."""
    data = json.loads((bench.state / "accepted.json").read_text())
    assert data["schema"] == 1
    return list(data["launches"])


def test_accepted_then_listed_then_noted(bench: Bench) -> None:
    done = bench.launch(*ACCEPT, VLLM_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "accepted: cpu-tiny (" in done.stdout
    assert "not asked: known answers, for a model of" in done.stdout
    for check in ("models", "key required", "tool call", "prefix hit", "full batch", "long prompt"):
        assert f"{check}: passed, " in done.stderr
    assert bench.engines() == []
    (verdict,) = kept(bench)
    assert verdict["accepted"] is True
    assert verdict["reasons"] == []
    assert verdict["engine"] == "0.31.0"
    for name in ("configuration", "rules"):
        assert len(verdict[name]) == 16
    assert verdict["at"].startswith(time.strftime("%Y-", time.gmtime()))
    assert verdict["seconds_to_ready"] > 0
    assert KEY not in (bench.state / "accepted.json").read_text() + done.stdout + done.stderr
    listed = bench.launch("accept", "--list")
    assert listed.returncode == 0
    assert verdict["configuration"] in listed.stdout
    assert "accepted" in listed.stdout
    again = bench.ready()
    assert f"this launch was accepted here on {verdict['at'][:10]}" in again.said()


def test_not_accepted_with_reason_and_fix_and_then_accepted(bench: Bench) -> None:
    done = bench.launch(*ACCEPT, "--json", "--quiet", VLLM_FAKE="never-hits")
    assert done.returncode == 1
    verdict = json.loads(done.stdout)
    assert verdict["accepted"] is False
    (reason,) = verdict["reasons"]
    assert reason["check"] == "prefix hit"
    assert "nothing came from the cache" in reason["reason"]
    assert "PREFIX_CACHE=0" in reason["fix"]
    assert kept(bench) == [verdict]
    assert "failed" in bench.launch("accept", "--list").stdout
    assert bench.launch(*ACCEPT).returncode == 0
    (now,) = kept(bench)
    assert now["accepted"] is True, "the last verdict of a launch is the one that counts"


@pytest.mark.parametrize(
    ("how", "said"),
    [("bad-completions", "completion fails: status 500"), ("dies", "the engine ended before it was ready")],
)
def test_one_that_is_never_ready_is_not_accepted(bench: Bench, how: str, said: str) -> None:
    done = bench.launch(*ACCEPT, FAKE=how)
    assert done.returncode == 1
    assert "not accepted: cpu-tiny" in done.stdout
    assert f"boot: {said}" in done.stdout
    assert kept(bench)[0]["checks"] == []


def test_a_running_server_is_left_alone(bench: Bench) -> None:
    old = bench.ready()
    done = bench.launch(*ACCEPT)
    assert done.returncode == 1
    assert "another server has what this launch needs: cpu-tiny, serving on" in done.stderr
    assert f"fix: stop it: kill {old.process.pid}" in done.stderr
    assert not json.loads((bench.state / "accepted.json").read_text())["launches"]


def test_an_interrupted_one_is_neither(bench: Bench) -> None:
    env = {
        **bench.variables(),
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "FAKE": "silent",
        "PATH": "/usr/bin:/bin",
    }
    process = subprocess.Popen(
        [sys.executable, str(REPO / "launch.py"), *ACCEPT], env=env, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert until(bench.engines)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"neither accepted nor refused" in said
    assert not json.loads((bench.state / "accepted.json").read_text())["launches"]


def test_a_state_that_cannot_be_written_is_known_before_the_boot(bench: Bench) -> None:
    bench.state.mkdir()
    (bench.state / "accepted.json").mkdir()
    done = bench.launch(*ACCEPT)
    assert done.returncode == 1
    assert f"{bench.state}/accepted.json, cannot be read (Is a directory)" in done.stderr
    assert not bench.pids.exists(), "an engine was started"


def test_the_last_accepted_one_is_started_where_a_switch_has_nothing_else_to_go_back_to(bench: Bench) -> None:
    port = free_port()
    assert bench.launch(*ACCEPT, PORT=str(port)).returncode == 0
    new = bench.serve("--switch", "MAX_SEQS=2", port=port, VLLM_FAKE="dies")
    new.wait_for("ready: qwen3.8-27b on")
    assert f"going back to cpu-tiny, which was accepted last, on http://127.0.0.1:{port}" in new.said()


def test_nothing_accepted_yet(bench: Bench) -> None:
    done = bench.launch("accept", "--list")
    assert done.returncode == 0
    assert "nothing was accepted here yet" in done.stdout
    assert json.loads(bench.launch("accept", "--list", "--json").stdout) == {"schema": 1, "launches": []}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_list_that_is_none_is_told_of_and_stays(bench: Bench, name: str) -> None:
    bench.state.mkdir()
    place = bench.state / "accepted.json"
    damage(place, name)
    before = place.lstat()[:7], (place.read_bytes() if place.is_file() else b"")
    for words in (("accept", "--list"), ("accept", "--list", "--json"), ACCEPT):
        done = bench.launch(*words)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert f"{place}, cannot be read (" in done.stderr
        assert "fix: put a whole copy in its place, or move it away: mv " in done.stderr
    assert not bench.pids.exists(), "an engine was started"
    assert (place.lstat()[:7], place.read_bytes() if place.is_file() else b"") == before


def test_serve_says_so_and_starts(bench: Bench) -> None:
    (bench.state / "servers").mkdir(parents=True)
    (bench.state / "accepted.json").write_text("[" * 100_000)
    odd = bench.state / "servers" / "server-x.json"
    odd.write_text("[" * 100_000)
    server = bench.ready()
    assert f"note: the list of accepted launches, {bench.state}/accepted.json, cannot be read" in server.said()
    assert f"note: {odd} is passed over, for it is nested too deeply" in server.said()
    assert (bench.state / "accepted.json").stat().st_size == odd.stat().st_size == 100_000
