"""One server takes another's place: checked first, never two at once, and back again when it does not become ready."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.serving_cli import REPO, free_port, until
from tests.serving.switch_cli import Bench

KEY = "sk-do-not-show-me-1234"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.end()


def test_a_switch_on_the_same_port(bench: Bench) -> None:
    old = bench.ready()
    new = bench.ready("--switch", "MAX_SEQS=2", port=old.port)
    assert old.end() == 0
    assert f"stopping cpu-tiny, serving on http://127.0.0.1:{old.port} since " in new.said()
    assert f"it made room for cpu-tiny (process {new.process.pid})" in old.said()
    (record,) = bench.records()
    assert (record["phase"], record["was_ready"], record["replaces"]) == ("ready", True, None)
    assert record["launcher"]["pid"] == new.process.pid
    new.signal(signal.SIGINT)
    assert new.end() == 0
    assert bench.records() == []


def test_a_second_server_is_refused_and_named(bench: Bench) -> None:
    old = bench.ready()
    for words in ((), ("MAX_SEQS=2",)):
        second = bench.serve(*words)
        assert second.end() == 1
        assert (
            f"another server has what this launch needs: cpu-tiny, serving on {'http://127.0.0.1:'}{old.port}"
            in second.said()
        )
        assert f"(process {old.process.pid})" in second.said()
        assert "add --switch" in second.said()
    assert old.process.poll() is None


def test_a_switch_where_nothing_runs_is_a_start(bench: Bench) -> None:
    new = bench.ready("--switch")
    new.signal()
    assert new.end() == 0


def test_one_that_is_never_ready_gives_its_place_back(bench: Bench) -> None:
    old = bench.ready()
    new = bench.serve("--switch", "--timeout", "1.5", "MAX_SEQS=2", VLLM_FAKE="silent")
    new.wait_for("ready: qwen3.8-27b on")
    said = new.said()
    assert old.end() == 0
    assert "cpu-tiny did not become ready: not ready after 1.5 s, still reading the configuration" in said
    assert f"going back to cpu-tiny, which ran before, on http://127.0.0.1:{old.port}" in said
    assert f"ready: qwen3.8-27b on http://127.0.0.1:{old.port}" in said
    (record,) = bench.records()
    assert record["launch"]["argv"][record["launch"]["argv"].index("--max-num-seqs") + 1] == "4"
    new.signal()
    assert new.end() == 1, "what was asked for did not run"


@pytest.mark.parametrize(
    ("how", "why"),
    [("dies", "the engine ended before it was ready"), ("bad-completions", "completion fails: status 500")],
)
def test_one_that_fails_gives_its_place_back(bench: Bench, how: str, why: str) -> None:
    old = bench.ready()
    new = bench.ready("--switch", port=old.port, VLLM_FAKE=how)
    assert why in new.said()
    assert "its last error" in new.said() or how != "dies"


def test_what_is_refused_leaves_the_old_one_alone(bench: Bench, tmp_path: Path) -> None:
    old = bench.ready()
    refused = [
        (("MAX_SEQS=none",), {}, "MAX_SEQS"),
        ((), {"ENGINE_VENV": str(tmp_path / "nowhere")}, "is missing"),
        ((), {"MODEL": str(tmp_path / "no-model")}, "the model folder"),
        (("--log", "/nowhere/at/all"), {}, "the log /nowhere/at/all cannot be written"),
        (("--once",), {}, "--switch and --once exclude each other"),
    ]
    for words, variables, why in refused:
        new = bench.serve("--switch", *words, **variables)
        assert new.end() in (1, 2)
        assert why in new.said()
        assert "stopping" not in new.said()
    assert old.process.poll() is None
    assert len(bench.records()) == 1


def test_a_port_of_somebody_else_is_seen_and_the_old_one_comes_back(bench: Bench) -> None:
    old = bench.ready()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        new = bench.serve("--switch", port=other.getsockname()[1])
        new.wait_for("ready: qwen3.8-27b on")
    assert f"going back to cpu-tiny, which ran before, on http://127.0.0.1:{old.port}" in new.said()


def test_a_state_folder_that_cannot_be_written_stops_nothing(bench: Bench, tmp_path: Path) -> None:
    old = bench.ready()
    kept = bench.folder / "kept"
    (bench.state / "servers").rename(kept)
    (bench.state / "servers").write_text("a file where the folder was")
    new = bench.serve("--switch")
    assert new.end() == 1
    assert "the state folder " in new.said()
    assert "LAUNCH_STATE_DIR" in new.said()
    assert old.process.poll() is None
    (bench.state / "servers").unlink()
    kept.rename(bench.state / "servers")


def test_a_full_disk_stops_nothing(bench: Bench) -> None:
    old = bench.ready()
    done = subprocess.run(
        [sys.executable, str(REPO / "launch.py"), "serve", "--profile", "cpu-tiny", "--switch"],
        env={**os.environ, **bench.variables(), "HOST": "127.0.0.1", "PORT": str(free_port()), "LAUNCH_CACHE_DIR": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"error: the state {bench.state}/servers/server-" in done.stderr
    assert "cannot be written (File too large)" in done.stderr
    assert "make room there, or name another folder with LAUNCH_STATE_DIR" in done.stderr
    assert old.process.poll() is None
    assert len(bench.records()) == 1
    assert not list((bench.state / "servers").glob(".*")), "half a record is left"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_the_old_one_stops(bench: Bench, number: int) -> None:
    old = bench.ready(FAKE="stops-slowly")
    new = bench.serve("--switch")
    new.wait_for("stopping cpu-tiny")
    new.signal(number)
    assert new.end() == 128 + number
    assert (
        "was not started; cpu-tiny is stopping; start it again with: launch.py serve --profile cpu-tiny" in new.said()
    )
    assert old.end() == 0
    assert bench.records() == []


def test_interrupted_while_the_new_one_boots(bench: Bench) -> None:
    old = bench.ready()
    new = bench.serve("--switch", FAKE="silent")
    new.wait_for("reading the configuration")
    new.signal(signal.SIGINT)
    assert new.end() == 130
    assert old.end() == 0
    assert "cpu-tiny was stopped; start it again with: launch.py serve --profile cpu-tiny" in new.said()


def test_two_launchers_at_once(bench: Bench) -> None:
    both = [bench.serve(), bench.serve()]
    assert until(lambda: any(one.process.poll() is not None for one in both), 40)
    first, second = sorted(both, key=lambda one: one.process.poll() is not None)
    first.wait_for("ready: qwen3.8-27b on")
    assert second.end() == 1
    assert f"(process {first.process.pid})" in second.said()


def test_two_switches_at_once(bench: Bench) -> None:
    old = bench.ready()
    both = [bench.serve("--switch", "MAX_SEQS=2"), bench.serve("--switch", "MAX_SEQS=3")]
    assert old.end() == 0
    assert until(lambda: any("ready: qwen" in one.said() for one in both), 40)
    time.sleep(1.0)
    assert until(lambda: any(one.process.poll() is not None for one in both), 40)
    (loser,) = (one for one in both if one.process.poll() is not None)
    assert any(
        text in loser.said() for text in ("another switch is under way", "another launcher was faster", "it made room")
    )
    assert until(lambda: len(bench.engines()) == 1, 40)


def test_a_launcher_that_is_stopped_by_its_terminal_gives_way(bench: Bench) -> None:
    old = bench.ready()
    old.signal(signal.SIGSTOP)
    bench.ready("--switch")
    assert old.end() == 0


def test_an_engine_whose_launcher_and_guard_were_killed_is_ended_first(bench: Bench) -> None:
    old = bench.ready(FAKE="stubborn-server")
    (record,) = bench.records()
    for who in ("launcher", "guard"):  # the engine ignores the SIGTERM that it gets then
        os.kill(record[who]["pid"], signal.SIGKILL)
    old.end()
    assert bench.engines() == [record["engine"]["pid"]]
    again = bench.ready()
    assert "what is left of cpu-tiny is being stopped" in again.said()
    assert (
        f"the launcher of cpu-tiny (process {old.process.pid}) ended without stopping its server itself, while serving: no server runs"
        in again.said()
    )


def test_no_key_is_written_down(bench: Bench) -> None:
    old = bench.ready(VLLM_API_KEY=KEY, HF_TOKEN="hf_" + KEY)
    new = bench.serve("--switch", port=old.port, VLLM_API_KEY=KEY, VLLM_FAKE="dies")
    new.wait_for("ready: qwen3.8-27b on")
    assert "key required: 401 without it" in new.said().rpartition("going back")[2]
    for path in bench.state.rglob("*"):
        assert not path.is_file() or KEY not in path.read_text()


def test_a_key_that_is_not_here_is_told_before_anything_is_stopped(bench: Bench) -> None:
    bench.ready(VLLM_API_KEY=KEY)
    new = bench.serve("--switch", VLLM_FAKE="dies")
    assert new.end() == 1
    said = new.said()
    assert said.index("cpu-tiny cannot be started again from here: the launch counts on an API key") < said.index(
        "stopping cpu"
    )
    assert "no server runs; the last one can be started with: launch.py serve --profile cpu-tiny" in said


def test_another_port_and_cpu_is_the_same_card(bench: Bench) -> None:
    bench.ready()
    assert bench.serve(port=free_port()).end() == 1


def plain(bench: Bench, port: int, **variables: str) -> subprocess.Popen[bytes]:
    """Start `launch.py`, which becomes the engine."""
    env = {**os.environ, **bench.variables(), "HOST": "127.0.0.1", "PORT": str(port), **variables}
    command = [sys.executable, str(REPO / "launch.py"), "--profile", "cpu-tiny", "--quiet"]
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_plain_launch_has_the_card_too(bench: Bench) -> None:
    port = free_port()
    engine = plain(bench, port)
    try:
        assert until(lambda: answers(port))
        assert bench.engines() == [engine.pid], "the launcher became the engine"
        second = bench.serve()
        assert second.end() == 1
        assert "another server has what this launch needs: cpu-tiny, running on http://127.0.0.1:" in second.said()
        third = plain(bench, free_port())
        _, said = third.communicate(timeout=60)
        assert third.returncode == 1
        assert b"use `launch.py serve --switch`, or stop it: kill " in said
        new = bench.serve("--switch", VLLM_FAKE="dies")
        assert until(lambda: engine.poll() is not None)
        new.wait_for("ready: qwen3.8-27b on")
        assert f"going back to cpu-tiny, which ran before, on http://127.0.0.1:{port}" in new.said()
    finally:
        engine.kill()
        engine.wait()


def test_a_plain_launch_that_was_killed_is_in_nobodys_way(bench: Bench) -> None:
    engine = plain(bench, port := free_port())
    assert until(lambda: answers(port))
    engine.kill()
    engine.wait()
    new = bench.ready()
    assert "no server runs" not in new.said()
    assert len(bench.records()) == 1


def test_a_plain_launch_needs_no_state(bench: Bench) -> None:
    bench.state.write_text("a file where the folder would be")
    engine = plain(bench, port := free_port())
    try:
        assert until(lambda: answers(port))
    finally:
        engine.kill()
    _, said = engine.communicate()
    assert b"nothing keeps a second server from this one's card" in said
