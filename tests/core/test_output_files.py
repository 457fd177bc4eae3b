"""What is written where somebody says: ordinary files whole or not at all, through links, and nothing else is replaced."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver import output_files

Make = Callable[[Path], object]


def pipe(place: Path) -> None:
    os.mkfifo(place)


def link_to_pipe(place: Path) -> None:
    os.mkfifo(place.with_name("pipe"))
    place.symlink_to("pipe")


def loop(place: Path) -> None:
    place.symlink_to(place.name)


def listener(place: Path) -> None:
    place.symlink_to("socket")  # its own name may be too long for a socket
    here = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{here}/socket")
    os.close(here)


ODD: dict[str, Make] = {
    "pipe": pipe,
    "link to a pipe": link_to_pipe,
    "link to itself": loop,
    "link to /dev/null": lambda place: place.symlink_to("/dev/null"),
    "socket": listener,
    "folder": lambda place: place.mkdir(),
}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / "speed.svg"
    ODD[request.param](place)
    return place


def test_what_is_no_file_is_refused_and_stays(odd: Path) -> None:
    before = os.lstat(odd)[:7]
    there = sorted(odd.parent.iterdir())
    for act in (
        output_files.check,
        lambda p: output_files.replace(p, b"new"),
        output_files.open_to_append,
        output_files.check_append,
    ):
        with pytest.raises(OSError) as caught:  # noqa: PT011
            act(odd)
        assert caught.value.strerror
    assert os.lstat(odd)[:7] == before
    assert sorted(odd.parent.iterdir()) == there


@pytest.mark.parametrize("name", ["nowhere/a.svg", "a.svg/", "file/a.svg", "n" * 300, "/proc/a.svg"])
def test_where_nothing_can_be_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OSError) as caught:  # noqa: PT011
        output_files.check(os.path.join(tmp_path, name))
    assert caught.value.strerror
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["a.svg", "n" * 255])
def test_a_file_is_made_and_made_again(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    assert output_files.check(place) == place
    assert not place.exists()
    output_files.replace(place, b"old")
    place.chmod(0o640)
    output_files.check(place)
    output_files.replace(place, b"new")
    assert place.read_bytes() == b"new"
    assert place.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "a.svg", tmp_path / "link.svg"
    link.symlink_to("there/a.svg")
    for content in (b"made", b"made again"):
        assert output_files.check(link) == real
        output_files.replace(link, content)
        assert (link.is_symlink(), real.read_bytes()) == (True, content)
    assert list(real.parent.iterdir()) == [real]


@pytest.mark.parametrize("call", ["write", "replace"])
def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    place = tmp_path / "a.svg"
    place.write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match="No space left"):
        output_files.replace(place, b"new")
    monkeypatch.undo()
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]
