"""What has been measured already? Every finished piece is kept as it comes, so that Ctrl-C or a crash loses at most the piece at hand.

The file (`--resume`) is JSON lines: a header that says which server it was, then a line for each piece.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from resolver import files, output_files
from resolver.diagnostics import UsageError
from resolver.serving.errors import LaunchError

FORMAT = 1
LARGEST = 256 << 20
"""Bytes of the largest file that is taken up."""
Record = dict[str, Any]


class Bar(Protocol):
    """Shows how far a tool is."""

    def begin(self, tool: str, total: int, done: int) -> None:
        """A tool starts: so many pieces, so many of them kept from before."""

    def step(self, what: str) -> None:
        """A piece is done; `what` comes next, if anything."""

    def end(self) -> None:
        """The tool is done, or was stopped."""


class NoBar:
    """Shows nothing."""

    def begin(self, tool: str, total: int, done: int) -> None:
        """Show nothing."""

    def step(self, what: str) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


class Journal:
    """The pieces of a measuring session.

    Attributes:
        interrupted: Ctrl-C came: nothing more is measured, and what is there is reported.
        resumed: how many pieces were there from before.
        boots: when the servers started that the pieces were measured on: more than one makes a mix of boots.
    """

    def __init__(self, bar: Bar | None = None) -> None:
        """Keep pieces in memory; `open` ties a file to it."""
        self.bar: Bar = bar or NoBar()
        self.interrupted = False
        self.resumed = 0
        self.boot = 0.0
        self.boots: set[float] = set()
        self._kept: dict[tuple[str, str], Record] = {}
        self._file = -1
        self._path = Path()
        self._tell: Callable[[str], None] = lambda text: None

    def open(self, path: Path, server: Mapping[str, Any], tell: Callable[[str], None] = lambda text: None) -> None:
        """Take up the pieces of a file, and write new ones to it.

        Args:
            path: the file; it is made when it is not there.
            server: who is measured. A file about another server is refused.
            tell: told once when the file can no longer be written; measuring goes on without it.

        Raises:
            UsageError: it holds something else, or another server's pieces.
            LaunchError: it cannot be read or written.
        """
        self.boot = float(server.get("boot") or 0.0)
        self._path, self._tell = path, tell
        header = {"measure": FORMAT, "server": {name: server[name] for name in ("model", "root", "version")}}
        try:
            whole, torn = self._read(path)
        except OSError as error:
            raise _unusable(path, error) from None
        lines = whole.splitlines()
        if torn and not lines:
            raise _foreign(path, 1)  # no line of ours: nothing of it is touched
        for number, line in enumerate(lines, 1):
            self._take(path, number, line, header)
        try:
            self._file = output_files.open_to_append(path, 0o644)
            if torn:  # a crash in the middle of a line: that piece is measured again
                os.ftruncate(self._file, len(whole) + 1)
            if not lines:
                self._append(header)
        except OSError as error:
            self.close()
            raise _unusable(path, error) from None
        self.resumed = len(self._kept)

    def _take(self, path: Path, number: int, line: bytes, header: Record) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                fits = entry["measure"] == FORMAT and entry["server"]
                if not fits or fits != header["server"]:
                    raise UsageError(
                        f"{path}:1:1: these pieces were measured on another server",
                        "name a new file with --resume, or measure the server that it is about",
                    )
                return
            self._kept[entry["tool"], entry["key"]] = dict(entry["record"])
            self.boots.add(float(entry["boot"]))
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
            raise _foreign(path, number) from None

    @staticmethod
    def _read(path: Path) -> tuple[bytes, bytes]:
        """The whole lines of a file, and what stands behind them."""
        try:
            whole, _, torn = files.read_bytes(path, largest=LARGEST).rpartition(b"\n")
        except FileNotFoundError:
            return b"", b""
        return whole, torn

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Add a line, whole or not at all. Raises OSError."""
        size = os.lseek(self._file, 0, os.SEEK_END)
        try:
            output_files.write_all(self._file, json.dumps(entry, ensure_ascii=True).encode() + b"\n")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise

    def _write(self, entry: Mapping[str, Any]) -> None:
        """Keep a piece; a file that takes no more is told of and let go, and the pieces stay in memory."""
        if self._file < 0:
            return
        try:
            self._append(entry)
        except OSError as error:
            self.close()
            self._tell(
                f"{self._path} cannot be written any more ({error.strerror}), so measuring goes on without it: "
                "what comes now is in the report only"
            )

    def pieces(self, tool: str, options: Any, keys: Sequence[str], work: Callable[[str], Record]) -> dict[str, Record]:
        """Measure what is not there yet, in order.

        Args:
            tool: the tool's name and the version of its method.
            options: what the pieces depend on beside the key; other options are other pieces.
            keys: names of the pieces.
            work: measures one. What it raises goes through; Ctrl-C stops and is noted.

        Returns:
            key -> piece, in order; not all of them when it was interrupted.
        """
        name = f"{tool}:{hashlib.sha256(repr(options).encode()).hexdigest()[:12]}"
        there = [key for key in keys if (name, key) in self._kept]
        self.bar.begin(tool, len(keys), len(there))
        try:
            for key in keys:
                if (name, key) in self._kept:
                    continue
                if self.interrupted:
                    break
                self.bar.step(key)
                record = work(key)
                self._kept[name, key] = record
                self.boots.add(self.boot)
                self._write({"tool": name, "key": key, "boot": self.boot, "record": record})
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.bar.end()
        return {key: self._kept[name, key] for key in keys if (name, key) in self._kept}

    def close(self) -> None:
        """Let go of the file."""
        handle, self._file = self._file, -1
        if handle >= 0:
            with contextlib.suppress(OSError):  # a network disk tells of a full one here: each line was written before
                os.close(handle)


def check(path: Path) -> None:
    """Find out whether a file can be taken up at all, before a server is asked.

    Raises:
        LaunchError: it is no ordinary file, or cannot be written.
    """
    try:
        output_files.check_append(path)
    except OSError as error:
        raise _unusable(path, error) from None


def _foreign(path: Path, number: int) -> UsageError:
    return UsageError(f"{path}:{number}:1: this is no line that `measure` wrote", "name a new file with --resume")


def _unusable(path: Path, error: OSError) -> LaunchError:
    return LaunchError(f"{path} cannot be written ({error.strerror})", "name another file with --resume")
