"""The parts behind a switch: locks, processes, records, recipes, and the card's memory."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving import supervise
from resolver.serving.errors import LaunchError
from resolver.serving.owned_run import Place, run
from resolver.serving.ownership import claim, keys, locks, memory, process, records, survey
from resolver.serving.ownership.recipe import Recipe, plan
from resolver.serving.probes.basis import World
from resolver.serving.progress import Progress
from resolver.serving.supervise import Wishes
from resolver.serving.supervise_report import Ending
from tests.serving.conftest import with_environ
from tests.serving.serving_cli import until

RECIPE = Recipe(
    "mtp-long", "launch.py serve --profile mtp-long", "0123456789abcdef", "0.31.0", "/srv/product", ("venv/bin/vllm", "serve"), {"A": "1"},
    ("B",), {"CUDA_VISIBLE_DEVICES": "1"}, False, "127.0.0.1", 8000, "qwen", "/m", True, False,
)  # fmt: skip
Sleeper = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    """Starts processes that wait, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(code: str = "import time; time.sleep(60)", **more: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", code], **more))  # type: ignore[call-overload]
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()


# locks


def test_a_lock_is_had_once_and_comes_back_with_its_last_holder(tmp_path: Path, sleeper: Sleeper) -> None:
    held = locks.take(tmp_path, ["cpu", "port-1"])
    child = sleeper(pass_fds=held.files())
    with pytest.raises(locks.Taken) as taken:
        locks.take(tmp_path, ["port-1", "port-2"])
    assert taken.value.key == "port-1"
    locks.take(tmp_path, ["port-2"]).release()
    held.release()
    with pytest.raises(locks.Taken):
        locks.take(tmp_path, ["cpu"])
    assert locks.holders(tmp_path, "cpu") == [child.pid]
    child.kill()
    child.wait()
    locks.take(tmp_path, ["cpu", "port-1"]).release()


def test_nothing_is_kept_of_a_lock_that_was_had_half(tmp_path: Path) -> None:
    one = locks.take(tmp_path, ["b"])
    with pytest.raises(locks.Taken):
        locks.take(tmp_path, ["a", "b"])
    locks.take(tmp_path, ["a"]).release()
    one.release()


def test_a_lock_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    locks.take(tmp_path, ["cpu"]).release()
    locks.path(tmp_path, "cpu").unlink()
    locks.take(tmp_path, ["cpu"]).release()
    assert locks.path(tmp_path, "cpu").exists()


def test_who_cannot_tell_the_cards_apart_has_them_alone(tmp_path: Path) -> None:
    first = locks.take(tmp_path, ["gpu-A", "gpu+"])
    second = locks.take(tmp_path, ["gpu-B", "gpu+"])
    with pytest.raises(locks.Taken):
        locks.take(tmp_path, ["gpu"])
    first.release()
    second.release()
    alone = locks.take(tmp_path, ["gpu", "gpu+"])
    with pytest.raises(locks.Taken):
        locks.take(tmp_path, ["gpu-A", "gpu+"])
    alone.release()


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (["cpu", "port-1"], ["cpu", "port-2"], True),
        (["gpu-A", "gpu+", "port-1"], ["gpu-B", "gpu+", "port-2"], False),
        (["gpu-A", "gpu+", "port-1"], ["gpu-B", "gpu+", "port-1"], True),
        (["gpu", "port-1"], ["gpu-B", "gpu+", "port-2"], True),
        (["gpu-A", "gpu+"], ["cpu"], False),
    ],
)
def test_which_servers_exclude_each_other(one: list[str], other: list[str], found: bool) -> None:
    assert keys.conflict(one, other) is found
    assert keys.conflict(other, one) is found


def test_keys_of_a_machine(world: World, tmp_path: Path) -> None:
    assert keys.keys(world, 1, 8000) == ("cpu", "port-8000")
    (tmp_path / "system/dev").mkdir(exist_ok=True)
    (tmp_path / "system/dev/nvidiactl").touch()  # a card that nobody tells of
    assert keys.keys(world, 1, 8000) == ("gpu", "port-8000")
    assert [keys.shown(key) for key in ("cpu", "gpu", "gpu+", "gpu-GPU-a", "port-8000")] == [
        "the CPU",
        "the GPU",
        "the GPU",
        "the GPU GPU-a",
        "port 8000",
    ]


def test_keys_of_the_cards_that_are_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from resolver.serving.probes import gpu
    from resolver.serving.probes.cards import Card, Cards

    cards = Cards((Card("GPU-a", "x", (8, 6)), Card("GPU-b", "x", (8, 6)), Card(None, "x", (8, 6))), "1", "fake")
    monkeypatch.setattr(keys, "Gpus", lambda world: gpu.Gpus(world, (lambda _: cards,)))
    assert keys.keys(world, 1, 1) == ("gpu+", "gpu-GPU-a", "port-1")
    assert keys.keys(world, 3, 1) == ("gpu+", "gpu-2", "gpu-GPU-a", "gpu-GPU-b", "port-1")
    second = with_environ(world, CUDA_VISIBLE_DEVICES="1")
    assert keys.keys(second, 1, 1) == ("gpu+", "gpu-GPU-b", "port-1")


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


# what is written down


def record_of() -> records.Record:
    return records.new(RECIPE, ("cpu", "port-8000"), "starting", RECIPE)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = records.save(tmp_path, record_of(), phase="ready", guard=process.me(), was_ready=True)
    assert list(records.everything(tmp_path)) == [record]
    assert (tmp_path / f"server-{record.id}.json").stat().st_mode & 0o077 == 0
    records.remove(tmp_path, record)
    records.remove(tmp_path, record)
    assert list(records.everything(tmp_path)) == []


@pytest.mark.parametrize(
    "change", [{"schema": 2}, {"phase": "odd"}, {"keys": 1}, {"launch": {}}, {"launcher": {}}, {"id": "../x"}]
)
def test_what_is_no_record_is_passed_over(tmp_path: Path, change: dict[str, object]) -> None:
    record = records.save(tmp_path, record_of())
    path = records.path(tmp_path, record)
    path.write_text(json.dumps({**record.as_json(), **change}))
    assert list(records.everything(tmp_path)) == []
    path.write_text(path.read_text()[:100])
    assert list(records.everything(tmp_path)) == []


@pytest.mark.parametrize(
    "kind", ["[" * 100_000, "[]", "", "{}", '{"schema": 9}', '{"pid": NaN}', "\0", "pipe", "folder"]
)
def test_a_damaged_record_is_named_and_stops_no_start(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "server-x.json"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_text(kind)
    before, said = file.lstat()[:7], list[str]()
    claim.claim(tmp_path, ["cpu"], said.append).release()
    assert len(said) == 1
    assert said[0].startswith(f"note: {file} is passed over, for ")
    assert "remove it" in said[0]
    assert file.lstat()[:7] == before


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    record = records.save(tmp_path, record_of())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(LaunchError) as error:
        records.save(tmp_path, record, phase="ready")
    monkeypatch.undo()
    assert "cannot be written (No space left on device)" in error.value.message
    assert "LAUNCH_STATE_DIR" in error.value.fix
    assert list(records.everything(tmp_path)) == [record]
    assert [path.name for path in tmp_path.iterdir()] == [f"server-{record.id}.json"]


def test_a_recipe_is_started_again_in_another_environment() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/h",
        "B": "gone",
        "CUDA_VISIBLE_DEVICES": "0",
        "VLLM_X": "of this shell",
        "HF_TOKEN": "t",
    }
    again = plan(RECIPE, {**environ, "VLLM_API_KEY": "of this shell"})
    assert again.order.environ == {
        "PATH": "/srv/product/venv/bin:/bin",
        "HOME": "/h",
        "CUDA_VISIBLE_DEVICES": "1",
        "HF_TOKEN": "t",
        "A": "1",
    }
    assert again.target.client.key is None
    assert again.order.argv == ["venv/bin/vllm", "serve"]
    assert again.url == RECIPE.url == "http://127.0.0.1:8000"


def test_a_recipe_with_a_key_needs_one(tmp_path: Path) -> None:
    keyed = replace(RECIPE, keyed=True, home=str(tmp_path))
    with pytest.raises(LaunchError, match="the launch counts on an API key"):
        plan(keyed, {})
    (tmp_path / "api_key.txt").write_text("k\n")
    assert plan(keyed, {}).order.environ["VLLM_API_KEY"] == "k"


def test_a_recipe_without_its_words_says_how_to_start_it() -> None:
    with pytest.raises(LaunchError) as error:
        plan(replace(RECIPE, argv=None), {})
    assert "a key among its engine flags" in error.value.message
    assert RECIPE.command in error.value.fix


@pytest.mark.parametrize(
    "change", [{"argv": "x"}, {"argv": [1]}, {"port": "1"}, {"set": []}, {"unset": "x"}, {"name": 1}, {"more": 1}]
)
def test_what_is_no_recipe(change: dict[str, object]) -> None:
    assert Recipe.from_json(json.loads(json.dumps(RECIPE.as_json()))) == RECIPE
    assert Recipe.from_json({**RECIPE.as_json(), **change}) is None


def test_a_disk_that_fills_up_in_the_middle_stops_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    place = Place(tmp_path, {}, said.append, lambda: Progress(quiet=True))

    def full(*_: object, **__: object) -> None:
        raise LaunchError("the state cannot be written (No space left on device)", "make room there")

    def watch(_: object, wishes: Wishes, __: object) -> Ending:
        wishes.step("ready", 0)
        return Ending(ready=True)

    monkeypatch.setattr(records, "save", full)
    monkeypatch.setattr(supervise, "watch", watch)
    held = locks.take(tmp_path, ["cpu", "port-1", "port-2"])
    order = plan(RECIPE, {})
    assert run(record_of(), order, place, held, Wishes(tmp_path / "log"), ["cpu", "port-1"]).ready
    assert len(said) == 2
    assert "No space left on device): after a crash the next start knows less" in said[0]
    assert sorted(held.handles) == ["cpu", "port-1"], "what only the one before needed is let go of"
    held.release()


def test_lock_files_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cpu.lock").mkdir()
    with pytest.raises(LaunchError, match=r"the lock .*/cpu.lock cannot be opened \(Is a directory\)"):
        locks.take(tmp_path, ["cpu"])


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
