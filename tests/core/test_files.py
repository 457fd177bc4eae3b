"""Whatever stands at a path, reading it ends and says why it is not read."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from resolver import files


def test_an_ordinary_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(b"x" * (3 << 20))
    assert len(files.read_bytes(path)) == 3 << 20
    (tmp_path / "link").symlink_to(path)
    assert len(files.read_bytes(tmp_path / "link")) == 3 << 20


def test_the_null_device_is_an_empty_file() -> None:
    assert files.read_bytes("/dev/null") == b""


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_device_is_never_read(device: str) -> None:
    with pytest.raises(OSError, match="device"):
        files.read_bytes(device, pipe=True)


def test_an_endless_file_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 32768 KiB"):
        files.read_bytes(path)


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SILENCE", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is a pipe"):
        files.read_bytes(tmp_path / "pipe")
    with pytest.raises(OSError, match="nobody wrote"):
        files.read_bytes(tmp_path / "pipe", pipe=True)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b"CTX=long\n" * 100_000))
    writer.start()
    assert files.read_bytes(tmp_path / "pipe", pipe=True) == b"CTX=long\n" * 100_000
    writer.join()


def test_folders_sockets_and_names_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        files.read_bytes(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="No such device"):
            files.read_bytes(tmp_path / "s", pipe=True)
    with pytest.raises(ValueError, match="null byte"):
        files.read_bytes("a\0b")


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in (tmp_path, "/dev/zero", "/dev/null", tmp_path / "none"):
        try:
            files.read_bytes(path)
        except OSError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before
