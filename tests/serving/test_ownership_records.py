"""What is written down of a server is read as it was written; what is damaged is named and stops no start."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving import supervise
from resolver.serving.errors import LaunchError
from resolver.serving.owned_run import Place, run
from resolver.serving.ownership import claim, locks, process, records
from resolver.serving.ownership.recipe import Recipe, plan
from resolver.serving.progress import Progress
from resolver.serving.supervise import Wishes
from resolver.serving.supervise_report import Ending
from tests.serving.owned import RECIPE, record_of


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
