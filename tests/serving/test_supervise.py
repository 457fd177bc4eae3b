"""`launch.py serve` with a stand-in for vLLM: progress, readiness, deaths, and nothing left in the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resolver.serving import supervise_tree
from tests.serving.serving_cli import REPO, Serve, runs, shared, until

KEY = "sk-do-not-show-me-1234"
Start = Callable[..., Serve]


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin/vllm"
    script.write_text(f"#!{sys.executable}\n" + (REPO / "tests/serving/fake_engine.py").read_text())
    script.chmod(0o755)
    return folder


@pytest.fixture
def start(tmp_path: Path, venv: Path) -> Iterator[Start]:
    started: list[Serve] = []

    def begin(*words: str, **variables: str) -> Serve:
        variables.setdefault("FAKE_PIDS", str(tmp_path / "pids"))
        started.append(Serve(tmp_path, venv, *words, **variables))
        return started[-1]

    before = shared()
    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    assert until(lambda: not any(map(runs, pids(tmp_path)))), "processes are left"
    assert until(lambda: shared() <= before), f"files are left: {shared() - before}"
    for one in started:
        assert until(lambda one=one: not one.left()), f"files are left: {one.left()}"
        shutil.rmtree(one.temporary)


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def test_ready_then_stopped_by_a_signal(start: Start) -> None:
    serve = start()
    serve.wait_for("ready: qwen3.8-27b on http://127.0.0.1:")
    assert serve.process.poll() is None
    said = serve.said()
    phases = [
        "importing the engine",
        "reading the configuration",
        "starting the engine's processes",
        "loading the model",
        "opening the server",
        "identity:",
        "completion:",
        "streamed completion:",
        "tool call:",
        "ready:",
    ]
    places = [said.index(phase) for phase in phases]
    assert places == sorted(places), said
    assert "\x1b" not in said
    serve.signal(signal.SIGTERM)
    assert serve.end() == 0
    assert "stopped" in serve.said()
    assert "Starting to load model" in serve.log.read_text()
    assert serve.log.stat().st_mode & 0o077 == 0


def test_once_and_a_question(start: Start) -> None:
    serve = start("--once", "--ask", "Who are you?")
    assert serve.end() == 0
    assert serve.out.read_text().strip()
    assert "ready:" in serve.said()


def test_quiet_says_only_that_it_is_ready(start: Start) -> None:
    serve = start("--once", "--quiet")
    assert serve.end() == 0
    lines = [line for line in serve.said().splitlines() if "ready: " in line or "importing" in line]
    assert len(lines) == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_stopped_before_it_is_ready(start: Start, number: int, status: int) -> None:
    serve = start(FAKE="silent")
    serve.wait_for("reading the configuration")
    serve.signal(number)
    assert serve.end() == status


def test_a_death_shows_the_last_error_and_what_it_means(start: Start) -> None:
    log = (
        "(EngineCore pid=9) ERROR 12-01 09:12:00 [core.py:1400] RuntimeError: UVA is not available\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    )
    serve = start(FAKE="dies", FAKE_LOG=log)
    assert serve.end() == 3
    said = serve.said()
    assert "the engine ended" in said
    assert "before it was ready: exit status 3" in said
    assert "its last error  RuntimeError: UVA is not available" in said
    assert "fix  set VLLM_WSL2_ENABLE_PIN_MEMORY=1" in said
    assert "rules/failures.yaml:" in said


def test_an_unknown_death_shows_its_last_words(start: Start) -> None:
    serve = start(FAKE="dies-quietly", FAKE_LOG="the last words")
    assert serve.end() == 1, "a server that ends by itself has failed, whatever it says"
    assert "its last error  the last words" in serve.said()


def test_a_killed_engine_is_named(start: Start, tmp_path: Path) -> None:
    serve = start()
    serve.wait_for("ready:")
    os.kill(pids(tmp_path)[0], signal.SIGKILL)
    assert serve.end() == 137
    assert "killed by SIGKILL, as the kernel does when memory runs out" in serve.said()


def test_healthy_and_unable_to_complete_is_not_ready(start: Start) -> None:
    serve = start(FAKE="bad-completions")
    assert serve.end() == 1
    assert "the server is not ready: completion fails: status 500" in serve.said()
    assert "ready: qwen" not in serve.said()


def test_an_engine_whose_core_is_dead_is_stopped(start: Start) -> None:
    serve = start(FAKE="dead-inside")
    serve.wait_for("ready:")
    assert serve.end() != 0
    assert "the engine ended" in serve.said()


def test_not_ready_in_time(start: Start) -> None:
    serve = start("--timeout", "1.5", FAKE="silent")
    assert serve.end() == 1
    assert "not ready after 1.5 s, still reading the configuration" in serve.said()


def test_a_second_signal_stops_at_once(start: Start) -> None:
    serve = start(FAKE="stubborn")
    serve.wait_for("reading the configuration")
    serve.signal()
    serve.wait_for("stopping")
    assert serve.process.poll() is None
    serve.signal()
    assert serve.end(10) == 143


def test_daemons_files_and_sockets_go_too(start: Start, tmp_path: Path) -> None:
    serve = start(FAKE="leaves", FAKE_SHM=f"psm_test_{os.getpid()}")
    serve.wait_for("ready:")
    assert until(lambda: len(pids(tmp_path)) == 2)
    serve.signal()
    assert serve.end() == 0
    assert "1 of its processes had to be killed" in serve.said()
    assert "2 temporary files that it left were removed" in serve.said()


@pytest.mark.parametrize("moment", ["reading the configuration", "ready:"])
def test_nothing_is_left_of_a_killed_launcher(start: Start, tmp_path: Path, moment: str) -> None:
    serve = start(FAKE="leaves", FAKE_SHM=f"psm_test_{os.getpid()}")
    serve.wait_for(moment)
    serve.signal(signal.SIGKILL)
    serve.end()
    assert until(lambda: pids(tmp_path) and not any(map(runs, pids(tmp_path))))


def test_a_killed_guard_is_replaced_by_the_launcher(start: Start, tmp_path: Path) -> None:
    serve = start(FAKE="leaves", FAKE_SHM=f"vllm_offload_test_{os.getpid()}.mmap")
    serve.wait_for("ready:")
    assert until(lambda: len(pids(tmp_path)) == 2)
    guard = next(p for p in serve.tree() if supervise_tree.parents()[p][0] == serve.process.pid)
    os.kill(guard, signal.SIGKILL)
    assert serve.end() == 1
    assert "the process that watches over the engine was killed" in serve.said()
    assert not any(map(runs, pids(tmp_path)))


def test_what_was_in_shared_memory_before_stays(start: Start) -> None:
    kept = Path(f"/dev/shm/psm_test_before_{os.getpid()}")
    kept.write_text("mine")
    try:
        assert start("--once").end() == 0
        assert kept.read_text() == "mine"
    finally:
        kept.unlink()


def test_the_key_is_in_no_log(start: Start) -> None:
    serve = start("--once", "--verbose", VLLM_API_KEY=KEY, FAKE_LOG=f"non-default args: {{'api_key': ['{KEY}']}}")
    assert serve.end() == 0
    assert "key required: 401 without it" in serve.said()
    assert "'api_key': ['***']" in serve.log.read_text()
    assert KEY not in serve.said() + serve.log.read_text() + serve.out.read_text()


def test_a_port_that_is_taken_is_seen_before_the_engine_starts(start: Start, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        serve = start(PORT=str(other.getsockname()[1]))
        assert serve.end() == 1
    assert "cannot be had (Address already in use)" in serve.said()
    assert pids(tmp_path) == []


def test_the_log_goes_to_the_state_folder(tmp_path: Path, venv: Path) -> None:
    (tmp_path / "state").mkdir()
    for number in range(30):
        (tmp_path / "state" / f"cpu-tiny-2026-{number}.log").write_text("old")
    serve = Serve(tmp_path, venv, "--once", "--log", "")
    assert serve.end() == 2, "an empty file name is none"
    shutil.rmtree(serve.temporary)
    command = [sys.executable, str(REPO / "launch.py"), "serve", "--profile", "cpu-tiny", "--once"]
    env = {
        **os.environ,
        "ENGINE_VENV": str(venv),
        "LAUNCH_STATE_DIR": str(tmp_path / "state"),
        "PORT": str(serve.port),
        "HOST": "127.0.0.1",
        "PYTHONPATH": str(REPO),
    }
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    logs = list((tmp_path / "state").glob("*.log"))
    assert len(logs) == 20
    assert any("Starting vLLM server" in path.read_text() for path in logs)
    assert f"log in {tmp_path / 'state'}/cpu-tiny-" in done.stderr


@pytest.mark.parametrize(
    ("words", "variables", "status", "said"),
    [
        (("--timeout", "soon"), {}, 2, "--timeout takes a number of seconds above 0"),
        (("--timeout", "0"), {}, 2, "--timeout takes a number of seconds above 0"),
        (("--log", "/nowhere/at/all"), {}, 1, "the log /nowhere/at/all cannot be written"),
        ((), {"ENGINE_VENV": "/nowhere"}, 1, "the engine /nowhere/bin/vllm is missing"),
        (("--", "--uds", "/tmp/x"), {}, 1, "which cannot be asked from here"),
        (("--", "--headless"), {}, 1, "there is nothing to ask here"),
        (("MAX_SEQS=none",), {}, 1, "MAX_SEQS"),
    ],
)
def test_what_is_not_started(
    start: Start, words: tuple[str, ...], variables: dict[str, str], status: int, said: str
) -> None:
    serve = start(*words, **variables)
    assert serve.end() == status, serve.said()
    assert said in serve.said()
