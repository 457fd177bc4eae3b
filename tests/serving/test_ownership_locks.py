"""Locks are had once, and the keys say which servers exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.serving.ownership import keys, locks
from resolver.serving.probes.basis import World
from tests.serving.conftest import with_environ
from tests.serving.owned import Sleeper


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
