"""What is measured is kept as it comes: it is measured once, and nothing of another server is taken for it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from resolver.diagnostics import UsageError
from resolver.measure.journal import Journal
from resolver.serving.errors import LaunchError

SERVER = {"model": "m", "root": "/r", "version": "1", "boot": 5.0}


def piece(key: str) -> dict[str, Any]:
    return {"key": key}


def test_pieces_are_measured_once(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    asked: list[str] = []

    def work(key: str) -> dict[str, Any]:
        asked.append(key)
        if key == "c" and len(asked) == 3:
            raise KeyboardInterrupt
        return piece(key)

    first = Journal()
    first.open(path, SERVER)
    assert first.pieces("t.1", 1, ["a", "b", "c", "d"], work) == {"a": piece("a"), "b": piece("b")}
    assert first.interrupted
    assert first.pieces("u.1", 1, ["a"], work) == {}
    first.close()
    second = Journal()
    second.open(path, {**SERVER, "boot": 6.0})
    assert second.resumed == 2
    assert list(second.pieces("t.1", 1, ["a", "b", "c", "d"], work)) == ["a", "b", "c", "d"]
    assert asked == ["a", "b", "c", "c", "d"]
    assert second.boots == {5.0, 6.0}
    assert list(second.pieces("t.1", 2, ["a"], work)) == ["a"]  # other options are other pieces
    assert list(second.pieces("t.2", 1, ["a"], work)) == ["a"]  # so is another method
    assert asked[5:] == ["a", "a"]
    second.close()


def test_a_line_that_was_cut_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    first = Journal()
    first.open(path, SERVER)
    first.pieces("t", 1, ["a", "b"], piece)
    first.close()
    path.write_bytes(path.read_bytes()[:-9])
    second = Journal()
    second.open(path, SERVER)
    assert second.resumed == 1
    second.pieces("t", 1, ["a", "b"], piece)
    second.close()
    assert [json.loads(line).get("key") for line in path.read_text().splitlines()] == [None, "a", "b"]


def test_pieces_of_another_server_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    first = Journal()
    first.open(path, SERVER)
    first.close()
    with pytest.raises(UsageError, match="measured on another server"):
        Journal().open(path, {**SERVER, "root": "/other"})
    for mine in ("my notes\n", "my notes", '{"a": 1}\nmore', "[]\n"):
        path.write_text(mine)
        with pytest.raises(UsageError, match=r":1:1: this is no line"):
            Journal().open(path, SERVER)
        assert path.read_text() == mine
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(LaunchError, match="cannot be written"):
            Journal().open(place, SERVER)


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"boot": ' + "9" * 400 + "}", "null", "\xff"], ids=["deep", "long", "null", "odd"]
)
def test_a_piece_that_is_none_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "kept.jsonl"
    journal = Journal()
    journal.open(path, SERVER)
    journal.close()
    with open(path, "a", encoding="latin-1") as file:
        file.write(line.replace("}", ', "tool": "t", "key": "k", "record": {}}') + "\n")
    with pytest.raises(UsageError, match=r":2:1: this is no line"):
        Journal().open(path, SERVER)


@pytest.mark.parametrize("at", [0, 9])
def test_a_disk_that_fills_up_costs_no_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    path, told, real = tmp_path / "kept.jsonl", list[str](), os.write
    journal = Journal()
    journal.open(path, SERVER, told.append)
    journal.pieces("t", 1, ["a"], piece)
    before = path.read_bytes()

    room = [at]

    def full(handle: int, data: bytes) -> int:
        left = room.pop() if room else 0
        if left:
            return real(handle, data[:left])  # the line is cut in its middle
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    assert list(journal.pieces("t", 1, ["a", "b", "c"], piece)) == ["a", "b", "c"]
    journal.close()
    monkeypatch.undo()
    assert path.read_bytes() == before, "a piece stands there in part"
    assert len(told) == 1
    assert str(path) in told[0]
    assert "No space left on device" in told[0]
    again = Journal()
    again.open(path, SERVER)
    assert again.resumed == 1
    again.close()
