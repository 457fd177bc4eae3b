"""Where may a file be written that somebody named? In the place of an ordinary file or of nothing; what else stands there stays.

A device, a pipe or a folder is never replaced, and a link is followed: the file that it names is written, and the link stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path


def check(path: str | Path) -> Path:
    """Find out whether `replace` can write there, before the work that makes the content.

    Returns:
        The file itself, links followed; it need not exist.

    Raises:
        OSError: with the reason as its text.
    """
    place = _target(path)
    handle, beside = _part(place)
    os.close(handle)
    beside.unlink()
    return place


def replace(path: str | Path, content: bytes) -> None:
    """Write the whole file or none of it. Raises OSError; what was there before is still there then."""
    place = _target(path)
    handle, beside = _part(place)
    try:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle, stat.S_IMODE(place.stat().st_mode))
            write_all(handle, content)
        finally:
            os.close(handle)
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def open_to_append(path: str | Path, mode: int = 0o666) -> int:
    """A handle to read and append with; the file is made where there is none. Raises OSError for what is no ordinary file."""
    with contextlib.suppress(FileNotFoundError):
        _refuse(os.stat(path))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    handle = os.open(path, flags, mode)
    try:
        _refuse(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return handle


def check_append(path: str | Path) -> None:
    """Find out whether `open_to_append` can open it; what is not there is not made. Raises OSError."""
    if os.path.exists(path):
        os.close(open_to_append(path))
    else:
        check(path)


def write_all(handle: int, content: bytes) -> None:
    """Write all of it. Raises OSError."""
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _target(path: str | Path) -> Path:
    """The file that is meant. Raises OSError where it is none, is not ours to write, or has no folder."""
    place = Path(os.path.realpath(path))
    try:
        _refuse(os.stat(path))
    except FileNotFoundError:
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder") from None
        if os.fspath(path).endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, "it is the name of a folder") from None
    else:
        if not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, "it is not yours to write")
    return place


def _refuse(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        kind = "pipe" if stat.S_ISFIFO(status.st_mode) else "socket" if stat.S_ISSOCK(status.st_mode) else "device"
        raise OSError(errno.EINVAL, f"it is a {kind}, not a file")


def _part(place: Path) -> tuple[int, Path]:
    """A new empty file beside it, under a name that is never too long."""
    beside = place.with_name(f".{secrets.token_hex(6)}.part")
    return os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), beside
