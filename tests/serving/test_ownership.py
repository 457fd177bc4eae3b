"""The parts behind a switch: processes, claims, and the card's memory."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving.errors import LaunchError
from resolver.serving.ownership import claim, locks, memory, process, records, survey
from tests.serving.owned import Sleeper, record_of
from tests.serving.serving_cli import until

# processes


def test_a_process_is_told_from_another_with_its_number() -> None:
    me = process.me()
    assert process.state(me) == "runs"
    assert process.state(None) == "gone"
    assert process.state(replace(me, start=me.start + 1)) == "gone"
    assert process.state(replace(me, boot="another")) == "gone"
    assert process.state(replace(me, space="pid:[1]")) == "elsewhere"
    assert process.Process.from_json(json.loads(json.dumps(me.as_json()))) == me
    for wrong in (None, [], {}, {**me.as_json(), "pid": "1"}, {**me.as_json(), "more": 1}):
        assert process.Process.from_json(wrong) is None


def test_only_the_process_that_is_meant_is_signalled(sleeper: Sleeper) -> None:
    one = sleeper()
    found = process.of(one.pid)
    assert found is not None
    assert not process.send(replace(found, start=found.start - 1), signal.SIGKILL)
    assert one.poll() is None
    assert process.send(found, signal.SIGKILL)
    assert one.wait() == -signal.SIGKILL
    assert process.of(one.pid) is None
    assert not process.send(found, signal.SIGKILL)


def test_what_a_session_left_behind(sleeper: Sleeper) -> None:
    code = "import os,time\nif os.fork():\n  time.sleep(60)\nelse:\n  time.sleep(60)"
    leader = sleeper(code, start_new_session=True)
    found = process.of(leader.pid)
    assert found is not None
    assert until(lambda: len(process.session(found)) == 2)
    leader.kill()
    leader.wait()
    (child,) = process.session(found)
    record = replace(record_of(), engine=found, guard=replace(found, pid=1, start=1))
    assert process.session(replace(found, boot="another")) == []
    assert claim.end_leftovers(record) == 1
    assert process.of(child) is None
    assert claim.end_leftovers(record) == 0


# claims


def test_a_lock_that_a_stranger_holds_is_told_of(tmp_path: Path, sleeper: Sleeper) -> None:
    held = locks.take(tmp_path, ["cpu"])
    child = sleeper(pass_fds=held.files())
    held.release()
    with pytest.raises(LaunchError) as error:
        claim.claim(tmp_path, ["cpu"], print, patience=0.3)
    assert f"the CPU is still held by process {child.pid}, and no launcher is there" in error.value.message
    assert error.value.fix == f"stop it with `kill {child.pid}`"


def test_a_server_whose_lock_files_somebody_removed_is_still_seen(tmp_path: Path) -> None:
    record = records.save(tmp_path, record_of())
    with pytest.raises(claim.Busy) as busy:
        claim.claim(tmp_path, ["cpu"], print)
    assert busy.value.record == record
    locks.take(tmp_path, ["cpu"]).release()


def test_a_container_that_is_gone_is_in_nobodys_way(tmp_path: Path) -> None:
    record = record_of()
    records.save(tmp_path, replace(record, launcher=replace(record.launcher, space="pid:[1]")))
    said: list[str] = []
    claim.claim(tmp_path, ["cpu"], said.append).release()
    assert len(said) == 1
    assert list(records.everything(tmp_path)) == []


def test_one_in_another_container_is_not_signalled() -> None:
    record = record_of()
    with pytest.raises(LaunchError, match="runs in another container"):
        claim.stop(replace(record, launcher=replace(record.launcher, space="pid:[1]")), lambda _: None)


def test_one_that_ignores_a_polite_signal_is_killed(sleeper: Sleeper) -> None:
    one = sleeper(
        "import signal,time\nsignal.signal(15, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(60)",
        stdout=subprocess.PIPE,
    )
    assert one.stdout is not None
    one.stdout.readline()
    found = process.of(one.pid)
    assert found is not None
    claim.stop(replace(record_of(), launcher=found, supervised=False), lambda _: one.poll(), patience=0.5)
    assert one.poll() == -signal.SIGKILL


def test_what_was_cut_short_is_said(tmp_path: Path) -> None:
    record = record_of()
    assert survey.cut_short(record, [record]).endswith("while starting: mtp-long runs, on http://127.0.0.1:8000")
    alone = replace(record, replaces=None, launcher=replace(record.launcher, boot="another"))
    assert "ended before this machine was started again, while starting: no server runs" in survey.cut_short(alone, [])


# memory


@pytest.mark.parametrize(
    ("readings", "used"),
    [
        ([24000, 9000, 600], 600),
        ([5000, 5000, 5000, 5000, 5000, 5000, 5000, 5000], 5000),
        ([None], None),
    ],
)
def test_memory_that_comes_back_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, readings: list[int | None], used: int | None
) -> None:
    monkeypatch.setattr(memory, "PAUSE", 0.01)
    monkeypatch.setattr(memory, "STILL", 0.04)
    left = list(readings)

    def read() -> tuple[int, int] | None:
        now = left.pop(0) if len(left) > 1 else left[0]
        return None if now is None else (24576, 24576 - now)

    assert memory.wait_until_free(read) == used
