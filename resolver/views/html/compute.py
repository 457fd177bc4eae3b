"""The tables of all machines, computed by as many processes as there are processors, with the progress told."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable

from resolver.resolve import Resolver
from resolver.serving.errors import LaunchError
from resolver.views.html.answers import table_of
from resolver.views.html.choices import Choices

LOOK = 2.0  # seconds between two looks at whether all processes are there
_STATE: list[tuple[Resolver, Choices]] = []
"""What a worker works on: set before the processes are forked, so that they share what is read and compiled already."""


def tables(resolver: Resolver, choices: Choices, tell: Callable[[int, int], None]) -> dict[str, str]:
    """Machine name to its packed table. `tell` gets the answers that are done and their total after each machine.

    Raises:
        LaunchError: a process was killed, as for want of memory.
    """
    total = len(choices.machines) * choices.a_machine
    done: dict[str, str] = {}
    workers = min(len(os.sched_getaffinity(0)), len(choices.machines))
    _STATE[:] = [(resolver, choices)]
    if workers == 1:
        for name in choices.machines:
            done[name] = _table(name)[1]
            tell(len(done) * choices.a_machine, total)
        return done
    with multiprocessing.get_context("fork").Pool(workers, _leave_interrupts_to_the_parent) as pool:
        workers_then = _children()
        found = pool.imap_unordered(_table, choices.machines)
        while len(done) < len(choices.machines):
            try:
                name, packed = found.next(LOOK)
            except multiprocessing.TimeoutError:
                if _children() != workers_then:  # a pool starts another one, and waits for the lost answer for ever
                    raise LaunchError(
                        "a process that computes the answers was killed",
                        "make room in memory, or name fewer knobs and values",
                    ) from None
                continue
            done[name] = packed
            tell(len(done) * choices.a_machine, total)
    return {name: done[name] for name in choices.machines}


def _children() -> set[int | None]:
    return {child.pid for child in multiprocessing.active_children()}


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _table(name: str) -> tuple[str, str]:
    resolver, choices = _STATE[0]
    gc.enable()
    return name, table_of(resolver, name, choices.words(name), list(resolver.rules.arms)).packed()
