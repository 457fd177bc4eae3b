"""Who may have the card? One file a card and a port, locked with flock: the kernel takes a lock back when its last holder ends.

The launcher, its guard and the engine's first process hold it together, since each inherits it. So a lock that is taken means
that something of that server is still there, whoever was killed; and no lock is ever stale.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from resolver.serving.errors import LaunchError
from resolver.serving.ownership.keys import SHARED
from resolver.serving.ownership.store import FIX


class Taken(Exception):
    """Somebody has it. `key` is the card or the port."""

    def __init__(self, key: str) -> None:
        """Take what is taken."""
        super().__init__(key)
        self.key = key


@dataclass(frozen=True)
class Held:
    """Locks that this process holds: key -> open file. What is forked holds them too, until it closes them."""

    handles: dict[str, int]

    def files(self, keys: Iterable[str] | None = None) -> list[int]:
        """The open files of these keys, or of all."""
        return [handle for key, handle in self.handles.items() if keys is None or key in keys]

    def release(self, keys: Iterable[str] | None = None) -> None:
        """Give up these keys, or all."""
        for key in list(self.handles if keys is None else keys):
            handle = self.handles.pop(key, None)
            if handle is not None:
                with contextlib.suppress(OSError):
                    os.close(handle)


def path(folder: Path, key: str) -> Path:
    """The lock file of a card or a port."""
    return folder / f"{key.removesuffix(SHARED)}.lock"


def take(folder: Path, keys: Iterable[str]) -> Held:
    """Lock all of the keys, or none. Never waits.

    Raises:
        Taken: somebody has one of them.
        LaunchError: a lock file cannot be opened.
    """
    held = Held({})
    try:
        wanted = set(keys)
        for key in sorted(wanted - {key + SHARED for key in wanted}):
            held.handles[key] = _take(path(folder, key), key)
    except BaseException:
        held.release()
        raise
    return held


def _open(place: Path) -> int:
    try:
        return os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise LaunchError(f"the lock {place} cannot be opened ({error.strerror})", FIX) from None


def _take(place: Path, key: str) -> int:
    while True:
        handle = _open(place)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if key.endswith(SHARED) else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(place)):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise Taken(key) from None
        except FileNotFoundError:
            pass  # somebody removed it between the two: lock the new one
        except OSError as error:
            os.close(handle)
            raise LaunchError(f"{place} cannot be locked ({error.strerror})", FIX) from None
        os.close(handle)


def holders(folder: Path, key: str) -> list[int]:
    """The processes that have a lock file open, this one left out; those of other users cannot be seen."""
    try:
        wanted = os.stat(path(folder, key))
    except OSError:
        return []
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and _has(f"/proc/{name}/fd", wanted):
            found.append(int(name))
    return found


def _has(place: str, wanted: os.stat_result) -> bool:
    try:
        for name in os.listdir(place):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.stat(f"{place}/{name}"), wanted):
                    return True
    except OSError:
        pass
    return False
