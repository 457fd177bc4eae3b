"""Who stops the engine when the launcher itself is killed? A small process between the two, which does nothing else.

The launcher forks a guard, the guard forks the engine. Both are in sessions of their own, so that a Ctrl-C reaches neither.
The launcher holds one end of a pipe: when it closes, for whatever reason, the guard stops the engine with everything that it
started, and removes what a killed engine leaves behind. A guard that is killed takes the engine's first process with it
(PR_SET_PDEATHSIG), and the launcher ends the rest. Only when both are killed at once, and the engine ignores the SIGTERM that
it gets then, something stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from resolver.serving import launch, regions, supervise_tree
from resolver.serving.errors import LaunchError

GRACE, EARLY, POLITE = 20.0, 5.0, 3.0  # seconds to stop: for an engine that was ready, one that was not, its leftovers
LOOK = 0.25  # seconds between two looks
NOT_STARTED = 127


@dataclass(frozen=True)
class Order:
    """What is to be run.

    Attributes:
        argv: the engine's words, the first a path from `root`.
        environ: its whole environment.
        root: the folder that it runs in.
        keep_regions: leave stale offload regions alone (R2).
        grace: seconds that it has to stop by itself once it was ready; before that it has no requests to end.
        held: open lock files that guard and engine keep as long as they live.
        dropped: open files that only the launcher keeps.
    """

    argv: list[str]
    environ: dict[str, str]
    root: Path
    keep_regions: bool = False
    grace: float = GRACE
    held: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()


@dataclass
class Started:
    """A started engine, as the launcher sees it: the guard's pid and three pipes.

    Attributes:
        log: what the engine writes.
        status: JSON lines of the guard: {"pid"}, {"error": [message, fix]}, and last {"ended", "killed", "left", "removed"}.
        control: takes the lines `ready`, `stop`, `kill` and `file PATH`; closing it means stop.
        belongings: what was there before, for the case that the guard is killed.
    """

    guard: int
    log: int
    status: int
    control: int
    belongings: supervise_tree.Belongings

    def tell(self, text: str) -> None:
        """Send the guard a line; a guard that is gone is no error."""
        with contextlib.suppress(OSError):
            os.write(self.control, text.encode("utf-8", "surrogateescape") + b"\n")


def start(order: Order) -> Started:
    """Start guard and engine. Call it before there are threads."""
    log, status, control = os.pipe(), os.pipe(), os.pipe()
    belongings = supervise_tree.Belongings(order.environ)
    supervise_tree.prctl(supervise_tree.PR_SET_CHILD_SUBREAPER, 1)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            for end in (log[0], status[0], control[1]):
                os.close(end)
            _Guard(order, belongings, log[1], status[1], control[0]).run()
        finally:
            os._exit(70)
    for end in (log[1], status[1], control[0]):
        os.close(end)
    return Started(pid, log[0], status[0], control[1], belongings)


class _Guard:
    """The guard's own life."""

    def __init__(
        self, order: Order, belongings: supervise_tree.Belongings, log: int, status: int, control: int
    ) -> None:
        self.order, self.belongings = order, belongings
        self.log, self.status, self.control = log, status, control
        self.rest = b""
        self.wanted = ""  # "", "stop" or "kill"
        self.grace = min(EARLY, order.grace)
        self.code: int | None = None

    def run(self) -> NoReturn:
        """Start the engine, watch it, end it, clean up, report."""
        os.setsid()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTTOU, signal.SIGTTIN):
            signal.signal(number, signal.SIG_IGN)
        for handle in self.order.dropped:
            os.close(handle)
        signal.signal(signal.SIGTERM, lambda *_: self._want("stop"))
        supervise_tree.prctl(supervise_tree.PR_SET_CHILD_SUBREAPER, 1)
        me = os.getpid()
        engine = os.fork()
        if engine == 0:
            try:
                self._become(me)
            finally:
                os._exit(NOT_STARTED)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.close(self.log)
        self._report(pid=engine)
        self._watch(engine)
        self.belongings.look(me, always=True)
        ended, killed, left = supervise_tree.end_all(me, 0.0 if self.wanted == "kill" else POLITE)
        self.code = ended.get(engine, self.code)
        removed = self.belongings.remove() + regions.remove_stale_regions(self.order.keep_regions)
        self._report(ended=self.code, killed=killed, left=left, removed=removed)
        os._exit(0)

    def _become(self, guard: int) -> None:
        """In the engine's first process: become the engine, exactly as a plain launch does."""
        os.setsid()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGTTOU, signal.SIGTTIN):
            signal.signal(number, signal.SIG_DFL)
        supervise_tree.prctl(supervise_tree.PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != guard:
            return
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(self.log, 1)
        os.dup2(self.log, 2)
        for handle in self.order.held:
            os.set_inheritable(handle, True)
        try:
            order = self.order
            launch.launch(order.argv, order.environ, order.root, keep_regions=order.keep_regions)
        except LaunchError as error:
            self._report(error=[error.message, error.fix])

    def _watch(self, engine: int) -> None:
        """Until the engine has ended, by itself or because it was told to and did so, or did not in time."""
        told: float | None = None
        while True:
            self._listen()
            self.belongings.look(os.getpid())
            self.code = supervise_tree.reap().get(engine, self.code)
            if self.code is not None or self.wanted == "kill":
                return
            if self.wanted and told is None:
                self.belongings.look(os.getpid(), always=True)
                supervise_tree.send([engine], signal.SIGTERM)
                told = time.monotonic()
            if told is not None and time.monotonic() - told > self.grace:
                self.wanted = "kill"
                return

    def _listen(self) -> None:
        if self.control < 0:
            time.sleep(LOOK)
            return
        ready, _, _ = select.select([self.control], [], [], LOOK)
        if not ready:
            return
        part = os.read(self.control, 65536)
        if not part:
            os.close(self.control)
            self.control = -1
            self._want("stop")
            return
        *lines, self.rest = (self.rest + part).split(b"\n")
        for line in lines:
            word, _, path = line.decode("utf-8", "surrogateescape").partition(" ")
            if word == "file":
                self.belongings.name(path)
            elif word == "ready":
                self.grace = self.order.grace
            else:
                self._want(word)

    def _want(self, what: str) -> None:
        self.wanted = "kill" if "kill" in (what, self.wanted) else "stop"

    def _report(self, **what: Any) -> None:
        with contextlib.suppress(OSError):
            os.write(self.status, json.dumps(what).encode() + b"\n")
