"""Which processes belong to the engine, and which files would they leave behind? Read from /proc, Linux only.

A process that started here stays below its guard: a guard takes in orphans (PR_SET_CHILD_SUBREAPER), so that even a daemon
of the engine's is found by its parents.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import stat
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from resolver.serving import regions

SHM = Path("/dev/shm")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SOCKET = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")  # vLLM names its ipc sockets by a UUID
SETTLE = 0.05


def prctl(option: int, value: int) -> bool:
    """Ask the kernel for one of the PR_ things. Returns False where there is none of it."""
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def parents() -> dict[int, tuple[int, bool]]:
    """Return process -> (its parent, whether it still runs). A zombie does not run."""
    found: dict[int, tuple[int, bool]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as handle:
                    fields = handle.read().rpartition(b")")[2].split()
            except OSError:
                continue
            found[int(name)] = int(fields[1]), fields[0] not in (b"Z", b"X")
    return found


def below(root: int, ended: bool = False) -> list[int]:
    """Return the running processes below `root`, itself not among them; with `ended` those too that nobody has reaped.

    A process whose first thread has ended looks like a zombie while its other threads still hold its files.
    """
    table = parents()
    children: dict[int, list[int]] = {}
    for process, (parent, _) in table.items():
        children.setdefault(parent, []).append(process)
    found, queue = [], [root]
    while queue:
        for child in children.get(queue.pop(), ()):
            queue.append(child)
            if ended or table[child][1]:
                found.append(child)
    return sorted(found)


def send(processes: Iterable[int], number: int) -> None:
    """Signal processes; one that is gone is no error."""
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def reap() -> dict[int, int]:
    """Collect the ended children. Returns process -> exit code, negative for the signal that ended it."""
    ended: dict[int, int] = {}
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if process == 0:
            return ended
        ended[process] = os.waitstatus_to_exitcode(status)


def end_all(root: int, polite: float, hard: float = 10.0) -> tuple[dict[int, int], int, list[int]]:
    """End whatever runs below `root`: SIGTERM, `polite` seconds, SIGKILL until none is left or `hard` seconds are over.

    Returns:
        the exit codes of the children reaped, how many had to be killed, and those that cannot be killed.
    """
    ended: dict[int, int] = {}
    killed: set[int] = set()
    told: set[int] = set()
    began = time.monotonic()
    while left := below(root, ended=True):
        elapsed = time.monotonic() - began
        if elapsed > polite + hard:
            return ended, len(killed), below(root)
        if elapsed < polite:
            send((new := set(left) - told), signal.SIGTERM)
            told |= new
        else:
            running = below(root)
            send(running, signal.SIGKILL)
            killed |= set(running)
        time.sleep(SETTLE)
        ended |= reap()
    return ended | reap(), len(killed), []


def _listed(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _sockets() -> dict[str, str]:
    """Return inode -> path of every named UNIX socket."""
    found = {}
    try:
        text = Path("/proc/net/unix").read_text("utf-8", errors="surrogateescape")
    except OSError:
        return {}
    for line in text.splitlines()[1:]:
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[7].startswith("/"):
            found[fields[6]] = fields[7]
    return found


@dataclass
class Belongings:
    """The files of an engine that outlive it when it is killed: shared memory, ipc sockets, and what its log names.

    Attributes:
        before: what was in /dev/shm when the engine started, which is never removed.
        shm: the folder of shared memory.
        held: shared memory files that the engine's processes were seen with.
        sockets: sockets that they were seen with.
        named: temporary files that the engine's log spoke of.
    """

    environ: Mapping[str, str]
    shm: Path = SHM
    before: frozenset[str] = frozenset()
    held: set[Path] = field(default_factory=set)
    sockets: set[Path] = field(default_factory=set)
    named: set[Path] = field(default_factory=set)
    _seen: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def __post_init__(self) -> None:
        """Note what is there before the engine starts."""
        self.before = _listed(self.shm)

    def folders(self) -> set[str]:
        """The folders in which the engine makes its sockets and temporary files."""
        return {tempfile.gettempdir(), "/tmp", *filter(None, map(self.environ.get, ("TMPDIR", "VLLM_RPC_BASE_PATH")))}

    def look(self, root: int, always: bool = False) -> None:
        """Note the files of the processes below `root`; only when something came or went, unless `always`."""
        named = _sockets()
        now = _listed(self.shm), frozenset(named.values())
        if now == self._seen and not always:
            return
        self._seen = now
        fresh = {found: path for path in sorted(now[0] - self.before) if (found := _identity(self.shm / path))}
        places = {os.path.realpath(folder) for folder in self.folders()}
        for process in below(root):
            for inode in _socket_inodes(process):
                path = named.get(inode, "")
                if SOCKET.match(os.path.basename(path)) and os.path.realpath(os.path.dirname(path)) in places:
                    self.sockets.add(Path(path))
            if fresh:
                self.held |= {self.shm / fresh[found] for found in _files(process) if found in fresh}

    def name(self, path: str) -> None:
        """Take up a temporary file that the engine's log spoke of; one outside its folders is not taken."""
        if os.path.dirname(path) in self.folders() and os.path.basename(path).startswith("vllm_dist_"):
            self.named.add(Path(path))

    def remove(self) -> list[str]:
        """Remove what nobody has any more, once the engine's processes are gone. Returns the paths removed."""
        removed = []
        bound = set(_sockets().values())
        for path in sorted(self.held | self.sockets | self.named):
            if str(path) not in bound and _remove(path, path in self.held):
                removed.append(str(path))
        return removed


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Device and inode of a file; None when it is gone. Names will not do: a semaphore is mapped before it has its own."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


def _socket_inodes(process: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{process}/fd/{name}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def _files(process: int) -> set[tuple[int, int]]:
    """Device and inode of the files that a process has open or mapped."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            if seen := _identity(f"/proc/{process}/fd/{name}"):
                found.add(seen)
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/maps").read_text("utf-8", errors="surrogateescape").splitlines():
            fields = line.split(None, 5)
            major, _, minor = fields[3].partition(":")
            found.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
    return found


def _remove(path: Path, shared: bool) -> bool:
    handle = -1
    try:
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISSOCK(kind)):
            return False
        if shared:
            handle, answer = regions.lease(path)
            if answer == "in use":
                return False
        path.unlink()
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)
    return True
