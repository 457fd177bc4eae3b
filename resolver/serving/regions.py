"""Which offload regions in /dev/shm does nobody use any more? An engine that was killed leaves its own behind (R2).

A region is removed only when two witnesses agree that nothing has it. /proc/<pid>/maps must not list it: that is the old
launcher's test, but it cannot see processes whose maps are unreadable. And the kernel must grant a write lease on the file,
which it does only while no process, in any container, has it open or mapped. Where leases are not to be had (a region of
another user, an unusual kernel), /proc alone decides, and one unreadable process is enough to keep every region.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from pathlib import Path
from typing import Literal

PREFIX, SUFFIX = "vllm_offload_", ".mmap"
SHM, PROC = Path("/dev/shm"), Path("/proc")
Identity = tuple[int, int, int]  # device major, device minor, inode


def candidates(shm: Path) -> dict[Path, Identity]:
    """Return the regions that exist, with what identifies each. Links, folders and pipes are none."""
    found: dict[Path, Identity] = {}
    try:
        names = sorted(os.listdir(shm))
    except OSError:
        return {}
    for name in names:
        if name.startswith(PREFIX) and name.endswith(SUFFIX):
            identity = _identity(shm / name)
            if identity is not None:
                found[shm / name] = identity
    return found


def _identity(path: Path) -> Identity | None:
    try:
        seen = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return os.major(seen.st_dev), os.minor(seen.st_dev), seen.st_ino


def read_maps(proc: Path) -> tuple[set[str], set[Identity], bool]:
    """Return the paths and the files that processes have mapped, and whether every process could be read.

    A process that ended meanwhile has nothing mapped; any other failure to read one makes the third value False.
    """
    paths: set[str] = set()
    files: set[Identity] = set()
    try:
        processes = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return paths, files, False
    complete = bool(processes)
    for process in processes:
        try:
            text = _read(proc / process / "maps")
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            complete = False
            continue
        for line in text.splitlines():
            fields = line.split(None, 5)
            if len(fields) == 6 and PREFIX in fields[5]:
                paths.add(fields[5].removesuffix(" (deleted)"))
                major, _, minor = fields[3].partition(":")
                files.add((int(major, 16), int(minor, 16), int(fields[4])))
    return paths, files, complete


def _read(path: Path) -> str:
    return path.read_text("utf-8", errors="surrogateescape")


def lease(path: Path) -> tuple[int, Literal["free", "in use", "unknown"]]:
    """Ask the kernel for the only handle on a file. Returns the handle (-1: none; the caller closes it) and the answer.

    "free" holds while the handle is open: whoever opens the file meanwhile waits for it to be closed.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1, "unknown"
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # who waits for the file must not end us: SIGURG is ignored
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except BlockingIOError:
        return handle, "in use"
    except OSError:
        return handle, "unknown"
    return handle, "free"


def remove_stale_regions(keep: bool, shm: Path = SHM, proc: Path = PROC) -> list[str]:
    """Remove the offload regions that nothing has mapped or open (R2). Returns the paths removed, sorted.

    With `keep` nothing is looked at. A region that cannot be removed, or that may be in use, stays; nothing is raised.
    """
    if keep:
        return []
    found = candidates(shm)
    if not found:
        return []
    paths, files, complete = read_maps(proc)
    removed: list[str] = []
    for path, identity in found.items():
        if str(path) in paths or identity in files:
            continue
        handle, answer = lease(path)
        try:
            alone = answer == "free" or (answer == "unknown" and complete)
            if alone and _identity(path) == identity:
                path.unlink()
                removed.append(str(path))
        except OSError:
            continue
        finally:
            if handle >= 0:
                os.close(handle)
    return removed
