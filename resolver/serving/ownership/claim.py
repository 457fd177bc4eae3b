"""How does a launcher get the card? It locks it; what was left behind is ended first, and what runs is named."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from resolver.serving import supervise_guard, supervise_tree
from resolver.serving.errors import LaunchError
from resolver.serving.ownership import keys as named
from resolver.serving.ownership import locks, process, records
from resolver.serving.ownership.records import Record
from resolver.serving.ownership.survey import cut_short, survey

Say = Callable[[str], None]
STEP = 0.1  # seconds between two looks
PATIENCE = supervise_guard.GRACE + supervise_guard.POLITE + 12.0
"""Seconds that a guard takes at most to end an engine: its grace, its leftovers', and what the kernel needs."""
LEFTOVERS = 6.0  # seconds for an engine that nobody watches over, between SIGTERM and SIGKILL


class Busy(Exception):
    """Another server of ours has what is needed. `record` is its record."""

    def __init__(self, record: Record) -> None:
        """Take the server."""
        super().__init__(record.id)
        self.record = record


def claim(
    folder: Path,
    keys: Iterable[str],
    say: Say,
    *,
    mine: str = "",
    patience: float = PATIENCE,
    go_on: Say = lambda _: None,
) -> locks.Held:
    """Lock the keys, once nothing is left of an earlier server; tell of what was cut short, and forget it.

    Args:
        folder: where locks and records are.
        keys: what is needed.
        say: takes what there is to tell.
        mine: the id of this launcher's own record.
        patience: seconds that a guard without a launcher may take to stop its engine.
        go_on: called while waiting, so that the caller can raise.

    Raises:
        Busy: a server of ours has one of them, and its launcher is there.
        LaunchError: somebody has one of them who cannot be ended from here.
    """
    keys = tuple(keys)
    until, told = time.monotonic() + patience, False
    for file, why in records.damaged(folder):
        say(f"note: {file} is passed over, for {why}: remove it when no server runs here that it could be about")
    while True:
        found = survey(folder, keys, mine)
        try:
            held = locks.take(folder, keys)
        except locks.Taken as taken:
            if found.running:
                raise Busy(found.running[0]) from None
            if not told and found.cut:
                say(f"what is left of {found.cut[-1].launch.name} is being stopped")
            told = True
            key = taken.key
        else:
            here = [one for one in found.running if process.state(one.launcher) == "runs"]
            if here:  # somebody removed the lock files of a server that runs
                held.release()
                raise Busy(here[0])
            for record in (*found.cut, *found.running):  # a container that is gone held no lock
                end_leftovers(record)
                if record.supervised:  # a plain launch has nobody who could have told of its end
                    say(cut_short(record, ()))
                records.remove(folder, record)
            return held
        orphaned = [one for one in found.cut if one.guard is not None and process.state(one.guard) == "gone"]
        for record in orphaned:
            end_leftovers(record)
        if time.monotonic() > until:
            _give_up(folder, key)
        go_on("")
        time.sleep(STEP)


def _give_up(folder: Path, key: str) -> None:
    who = locks.holders(folder, key)
    by = f" by process {' and '.join(map(str, who))}" if who else ""
    raise LaunchError(
        f"{named.shown(key)} is still held{by}, and no launcher is there that could let go of it",
        f"stop it with `kill {' '.join(map(str, who))}`"
        if who
        else "stop the launcher of the other user, or container",
    )


def end_leftovers(record: Record) -> int:
    """End what an engine left behind that has neither launcher nor guard. Returns how many processes that were."""
    if record.engine is None or (record.guard is not None and process.state(record.guard) != "gone"):
        return 0
    engine = record.engine
    return _end(lambda: process.session(engine))


def _end(left: Callable[[], list[int]]) -> int:
    """SIGTERM, some seconds, SIGKILL, until `left` names no process any more. Returns how many it named first."""
    found, began = left(), time.monotonic()
    count = len(found)
    supervise_tree.send(found, signal.SIGTERM)
    while found and time.monotonic() - began < 2 * LEFTOVERS:
        if time.monotonic() - began > LEFTOVERS:
            supervise_tree.send(found, signal.SIGKILL)
        time.sleep(STEP)
        found = left()
    return count


def stop(record: Record, go_on: Say, patience: float = PATIENCE) -> None:
    """Ask a server to stop, then more firmly. Returns once its launcher is gone, and of a plain launch all that it started.

    Args:
        record: the server.
        go_on: called while waiting, so that the caller can raise.
        patience: seconds between two signals.

    Raises:
        LaunchError: it cannot be signalled from here, or does not end.
    """
    if process.state(record.launcher) == "elsewhere":
        raise LaunchError(
            f"{record.launch.name} runs in another container (process {record.launcher.pid} there)", "stop it there"
        )
    steps = [(signal.SIGTERM, patience), (signal.SIGKILL, patience)]
    tree: list[process.Process | None] = []
    if not record.supervised:
        tree = [process.of(pid) for pid in supervise_tree.below(record.launcher.pid)]
    else:
        steps.insert(1, (signal.SIGTERM, 15.0))  # the second one ends the engine at once
    if record.phase == "stopping":
        steps[0] = (signal.SIGCONT, patience)
    for number, seconds in steps:
        process.send(record.launcher, number)
        process.send(record.launcher, signal.SIGCONT)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if process.state(record.launcher) == "gone":
                _end(lambda: [one.pid for one in tree if one is not None and process.state(one) == "runs"])
                return
            go_on("")
            time.sleep(STEP)
    raise LaunchError(
        f"{record.launch.name} (process {record.launcher.pid}) does not end, not even by SIGKILL",
        "check it with `ps`: it waits for a driver or a disk",
    )
