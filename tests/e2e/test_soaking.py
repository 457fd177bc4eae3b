"""A server that is started, loaded and stopped: what is said of one that lives, dies, hangs, or does not end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import machine

from e2e import report, soak, soak_run, soaking  # isort: skip  (tests.e2e makes it importable)


def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def soaked(folder: Path, how: str = "", seconds: float = 2.0, **more: Any) -> soaking.Soak:
    number = port()
    command = [sys.executable, str(machine.REPO / "tests/e2e/loaded_server.py"), str(number), how]
    environ = {**os.environ, "PYTHONPATH": str(machine.REPO)}
    return soaking.Soak("served", command, environ, folder, streams=4, seconds=seconds, port=number, every=0.2, **more)


def test_a_server_that_lives_and_ends_when_told(tmp_path: Path) -> None:
    found = soaked(tmp_path).run()
    assert soaking.status(found) == 0
    assert (found["alive"], found["exit status"], found["left behind"], found["log errors"]) == (
        True,
        -signal.SIGTERM,
        0,
        0,
    )
    assert found["seconds"] >= 2
    assert found["counted"]["preemptions"] == 3
    assert found == soaking.result(tmp_path)
    lines = soaking.progress(tmp_path)
    assert len(lines) > 3
    assert all(line["rss_mib"] > 0 and line["alive"] for line in lines)
    answered = [line.get("answered", 0) for line in lines]
    assert answered == sorted(answered)
    assert answered[-1] == found["answered"]
    assert set(found["memory"]) == {"after a tenth", "after half", "at the end"}


def test_a_server_that_dies_under_load_ends_the_load_and_is_told_of(tmp_path: Path) -> None:
    found = soaked(tmp_path, "dies", 60.0).run()
    assert soaking.status(found) == 1
    assert (found["alive"], found["exit status"]) == (False, 3)
    assert found["seconds"] < 50
    assert found["first log errors"] == ["ERROR engine dead"]


def test_a_server_that_is_killed_in_the_middle_is_told_of(tmp_path: Path) -> None:
    one = soaked(tmp_path, seconds=60.0)
    threading.Timer(2.0, lambda: os.kill(one.server.pid, signal.SIGKILL)).start()  # there is none yet
    found = one.run()
    assert (soaking.status(found), found["alive"], found["exit status"]) == (1, False, -signal.SIGKILL)
    assert found["answered"] > 0
    assert found["seconds"] < 50
    assert soaking.progress(tmp_path)[-1]["alive"] is False


def test_a_server_that_does_not_start(tmp_path: Path) -> None:
    one = soaked(tmp_path, seconds=60.0, turns=tmp_path)
    one.command = [sys.executable, "-c", "raise SystemExit('no GPU')"]
    found = one.run()
    assert (soaking.status(found), found["alive"], found["boot s"], found["exit status"]) == (1, False, None, 1)
    assert (tmp_path / "server.dead").exists()


def test_a_server_that_does_not_hear_is_killed_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soaking, "END", 1.0)
    found = soaked(tmp_path, "deaf", 1.0).run()
    assert (soaking.status(found), found["killed"], found["exit status"]) == (1, True, -signal.SIGKILL)


def test_a_server_that_hangs_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaking, "BEHIND", 1.0)
    found = soaked(tmp_path, "hangs", 1.0).run()
    assert (soaking.status(found), found["alive"], found["hung"]) == (1, True, True)


def test_failed_answers_are_not_met(tmp_path: Path) -> None:
    found = soaked(tmp_path, "short", 60.0).run()
    assert soaking.status(found) == 1
    assert found["alive"]
    assert found["failed"] > soak.ENOUGH


def test_the_load_waits_until_nobody_is_timed(tmp_path: Path) -> None:
    one = soaked(tmp_path, turns=tmp_path)
    began = time.time()
    thread = threading.Thread(target=one.run)
    thread.start()
    deadline = time.time() + 30
    while not (tmp_path / "server.up").exists() and time.time() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    assert (soaking.state(tmp_path) or {})["phase"] == "up"
    assert one.begun == 0
    (tmp_path / "all.timed").touch()
    thread.join(60)
    result = soaking.result(tmp_path)
    assert result is not None
    assert soaking.status(result) == 0
    assert result["boot s"] <= one.begun - began - 0.5  # waiting for the others is no booting


def test_it_is_ended_early(tmp_path: Path) -> None:
    one = soaked(tmp_path, seconds=60.0)
    threading.Timer(2.0, one.stop.set).start()
    found = one.run()
    assert (soaking.status(found), found["alive"], found["exit status"]) == (1, True, -signal.SIGTERM)


PERFORM = """
import signal, sys
from pathlib import Path
sys.path[:0] = [{repo!r}, {kernels!r}]
from tests.e2e.test_soaking import soaked
from e2e import soaking
one = soaked(Path({folder!r}), {how!r}, {seconds})
signal.signal(signal.SIGTERM, lambda *_: one.stop.set())
one.run()
"""


def detached(work: Path, how: str, seconds: float) -> int:
    """Start a load in a session of its own, as `soak_run start` does, and leave it."""
    folder = work / "soak"
    folder.mkdir(parents=True)
    (folder / "launches.json").write_text('{"served": {}}')
    repo = machine.REPO
    text = PERFORM.format(repo=str(repo), kernels=str(repo / "kernels"), folder=str(folder), how=how, seconds=seconds)
    with open(folder / "soak.log", "wb") as log:
        child = subprocess.Popen([sys.executable, "-c", text], start_new_session=True, stdout=log, stderr=log)
    soaking.say(folder, "starting", "served", child.pid)
    threading.Thread(target=child.wait, daemon=True).start()  # nobody else reaps it
    return child.pid


def test_a_later_command_finds_how_it_goes_and_what_came_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    detached(tmp_path, "", 6.0)
    words = ["wait", "--work", str(tmp_path), "--say-every", "1"]
    assert soak_run.main([*words, "--out", str(tmp_path / "a"), "--most", "4"]) == soak_run.GOES_ON
    assert not (tmp_path / "a/results.jsonl").exists()
    assert soak_run.main([*words, "--out", str(tmp_path / "b"), "--most", "60"]) == 0
    assert soak_run.main([*words, "--out", str(tmp_path / "b"), "--most", "60"]) == 0
    records = report.records(tmp_path / "b")
    assert [(record["kind"], record["alive"]) for record in records] == [("soak", True)]
    assert {path.name for path in (tmp_path / "b").iterdir()} == {
        "results.jsonl",
        "launches.json",
        "soak-progress.jsonl",
        "soak-logs.tar.xz",
    }
    assert "phase loading, load s" in capsys.readouterr().out
    assert len(report.load(tmp_path / "b")) > 4


def test_a_load_that_is_gone_without_a_result_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    process = detached(tmp_path, "", 60.0)
    time.sleep(3)
    server = [
        int(word)
        for word in subprocess.run(
            ["pgrep", "-P", str(process)], capture_output=True, text=True, check=False
        ).stdout.split()
    ]
    os.kill(process, signal.SIGKILL)
    for one in server:
        os.kill(one, signal.SIGKILL)
    assert soak_run.main(["wait", "--work", str(tmp_path), "--out", str(tmp_path / "out"), "--most", "20"]) == 1
    assert "ended without a result" in capsys.readouterr().out


def test_stop_ends_it_early(tmp_path: Path) -> None:
    detached(tmp_path, "", 60.0)
    time.sleep(3)
    assert soak_run.main(["stop", "--work", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    record = json.loads((tmp_path / "out/results.jsonl").read_text())
    assert (record["alive"], record["exit status"]) == (True, -signal.SIGTERM)
    assert record["seconds"] < 30


def test_no_second_load_is_begun_over_one_that_goes_on(tmp_path: Path) -> None:
    process = detached(tmp_path, "", 60.0)
    try:
        with pytest.raises(SystemExit, match="a load goes on"):
            soak_run.main(["start", "--prepared", "--work", str(tmp_path)])
        assert (soaking.state(tmp_path / "soak") or {})["pid"] == process
    finally:
        soak_run.main(["stop", "--work", str(tmp_path), "--out", str(tmp_path / "out")])


@pytest.mark.parametrize("words", [["run", "--out", "x"], ["start"], ["wait"], ["stop"]])
def test_what_is_missing_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        soak_run.main(words)
    assert f"{words[0]} needs --" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["wait", "stop"])
def test_nothing_was_begun(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert soak_run.main([command, "--work", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 1
    assert "nothing was begun" in capsys.readouterr().out
