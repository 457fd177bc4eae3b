"""Read what stands at a path that somebody gave: it ends, whatever it is, and takes no more memory than such a file needs.

A device, an endless file or a pipe that nobody writes to is an OSError with a text that can be shown.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST = 32 << 20
"""Bytes of the largest file that is read whole: rules, machine files, saved results and settings of models are far smaller."""
SILENCE = 60.0
"""Seconds that a pipe may say nothing."""
_NOTHING = os.makedev(1, 3)
"""/dev/null, which reads as an empty file."""


def read_bytes(path: str | Path, *, pipe: bool = False, largest: int = LARGEST) -> bytes:
    """The content of an ordinary file; with `pipe`, of a pipe as well (`--env-file <(...)`).

    Raises OSError, and ValueError for a name that no file can have.
    """
    handle = open_plain(path, pipe=pipe)
    try:
        parts: list[bytes] = []
        left = largest + 1
        while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        if left <= 0:
            raise OSError(errno.EFBIG, f"larger than {largest >> 10} KiB")
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(handle)


def read_text(path: str | Path, *, largest: int = LARGEST) -> str:
    """The text of an ordinary file. Raises OSError, and ValueError for what is not UTF-8."""
    return read_bytes(path, largest=largest).decode("utf-8")


def open_plain(path: str | Path, *, pipe: bool = False) -> int:
    """A handle to read from. Opening never waits; for the first word of a pipe SILENCE seconds are waited.

    Raises OSError and ValueError as above.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        said = _against(status, pipe)
        if said:
            raise OSError(errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL, said)
        if stat.S_ISFIFO(status.st_mode):
            _await(handle)
            os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _against(status: os.stat_result, pipe: bool) -> str | None:
    """Why this is not read; None when it is."""
    mode = status.st_mode
    if stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode)) or (stat.S_ISCHR(mode) and status.st_rdev == _NOTHING):
        return None
    if stat.S_ISDIR(mode):
        return os.strerror(errno.EISDIR)
    return "it is a pipe, not a file" if stat.S_ISFIFO(mode) else "it is a device, not a file"


def _await(handle: int) -> None:
    import select

    waiting = select.poll()
    waiting.register(handle, select.POLLIN | select.POLLHUP)
    if not waiting.poll(SILENCE * 1000):
        raise OSError(errno.ETIMEDOUT, f"nobody wrote into this pipe for {SILENCE:g} seconds")
