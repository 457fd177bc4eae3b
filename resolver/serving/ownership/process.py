"""Is it still the same process? A number is used again; with its start, its boot and its namespace it is not."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from resolver.serving import supervise_tree

State = Literal["runs", "gone", "elsewhere"]


@dataclass(frozen=True)
class Process:
    """One process, for good.

    Attributes:
        pid: its number.
        start: when it started, in clock ticks since the machine did.
        boot: the identity of that boot.
        space: the namespace that counts its number: a container has its own.
    """

    pid: int
    start: int
    boot: str
    space: str

    @classmethod
    def from_json(cls, data: Any) -> Process | None:
        """The process that `as_json` wrote; None for what is none."""
        if not isinstance(data, Mapping) or set(data) != {"pid", "start", "boot", "space"}:
            return None
        if not all(isinstance(data[name], int) for name in ("pid", "start")):
            return None
        return cls(data["pid"], data["start"], str(data["boot"]), str(data["space"]))

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def boot() -> str:
    """The identity of this boot of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def space() -> str:
    """The namespace in which process numbers are counted here."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _fields(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def of(pid: int) -> Process | None:
    """The process that has this number now; None when there is none, or only its exit status is left."""
    fields = _fields(pid)
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[19]), boot(), space())


def me() -> Process:
    """This process."""
    found = of(os.getpid())
    return found or Process(os.getpid(), 0, boot(), space())


def state(process: Process | None) -> State:
    """Whether it runs, is gone, or cannot be seen from here: the process numbers of another container mean nothing here."""
    if process is None or process.boot != boot():
        return "gone"
    if process.space != space():
        return "elsewhere"
    return "runs" if of(process.pid) == process else "gone"


def send(process: Process, number: int) -> bool:
    """Signal it, and no other that got its number meanwhile. Returns whether it was there."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if state(process) != "runs":
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def session(leader: Process) -> list[int]:
    """What still runs of the session that a process began and may have left behind.

    A number is not given to a new process while a session has it. When the leader has gone and its number is taken all the
    same, the session has ended.
    """
    if leader.boot != boot() or leader.space != space():
        return []
    there = of(leader.pid)
    if there is not None and there != leader:
        return []
    found = []
    for pid in supervise_tree.parents():
        fields = _fields(pid)
        runs = len(fields) >= 20 and fields[0] not in (b"Z", b"X")
        if runs and int(fields[3]) == leader.pid and int(fields[19]) >= leader.start:
            found.append(pid)
    return found
