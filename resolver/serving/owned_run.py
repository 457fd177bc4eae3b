"""How does an engine run that owns its card? It inherits the locks, and each step is written down as it is taken."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from resolver.serving import supervise
from resolver.serving.errors import LaunchError
from resolver.serving.ownership import locks, memory, process, records, survey
from resolver.serving.ownership.recipe import Recipe
from resolver.serving.ownership.records import Record
from resolver.serving.progress import Progress
from resolver.serving.supervise import Wishes
from resolver.serving.supervise_plan import Plan
from resolver.serving.supervise_report import Ending

Say = Callable[[str], None]


class Interrupted(Exception):
    """A signal asked to stop while nothing of ours was running yet. `number` is the signal."""

    def __init__(self, number: int) -> None:
        """Take the signal."""
        super().__init__(number)
        self.number = number


@dataclass(frozen=True)
class Wanted:
    """The launch that is asked for.

    Attributes:
        plan, recipe: how to start it now, and how it is written down.
        keys: the cards and the port that it needs.
        check: says what would keep it from working, once the other server is gone; nothing when all is well.
        free: reads the card's memory.
    """

    plan: Plan
    recipe: Recipe
    keys: tuple[str, ...]
    check: Callable[[], Sequence[str]] = lambda: ()
    free: memory.Reading = lambda: None


@dataclass(frozen=True)
class Place:
    """Where it happens.

    Attributes:
        folder: of locks and records.
        environ: the caller's environment.
        say: takes each thing there is to tell.
        progress: begins to show a boot.
        accepted: recipes to go back to when there was no other server, the best first.
    """

    folder: Path
    environ: Mapping[str, str]
    say: Say
    progress: Callable[[], Progress]
    accepted: Callable[[Sequence[str]], Iterator[Recipe]] = lambda keys: iter(())


def run(
    record: Record,
    plan: Plan,
    place: Place,
    held: locks.Held,
    wishes: Wishes,
    keys: Sequence[str] | None = None,
) -> Ending:
    """Start an engine that holds these locks, watch it to its end, and write down each step.

    Args:
        record: what is written down.
        plan: what to start.
        place: where it happens.
        held: the locks.
        wishes: as of `supervise`.
        keys: those that it needs, None all; others are let go of once it is ready, for until then its predecessor may
            come back.

    Raises:
        LaunchError: the engine was not started.
    """
    now = [record]
    kept = held.files(keys)
    order = replace(plan.order, held=tuple(kept), dropped=tuple(set(held.files()) - set(kept)))
    progress = place.progress()

    def write(**changes: Any) -> None:
        if "phase" in changes:
            changes["since"] = records.now()
        now[0] = replace(now[0], **changes)
        try:
            records.save(place.folder, now[0])
        except LaunchError as error:  # a disk that is full by now is no reason to serve nobody
            place.say(f"warning: {error.message}: after a crash the next start knows less")

    def step(what: str, pid: int) -> None:
        changes: dict[str, Any] = {what: process.of(pid)} if pid else {"phase": what}
        if what == "ready":
            changes |= {"was_ready": True, "replaces": None}
            if keys is not None:
                changes["keys"] = tuple(keys)
                held.release(set(held.handles) - set(keys))
        write(**changes)

    write()
    ending = supervise.watch(replace(plan, order=order), replace(wishes, step=step), progress)
    for one in survey.survey(place.folder, record.keys, record.id).coming:
        place.say(f"it made room for {one.launch.name} (process {one.launcher.pid})")
    return ending


@contextmanager
def signals() -> Iterator[Say]:
    """Signals that ask to stop are noted, and raised where it does no harm: yields what to call there."""
    seen: list[int] = []
    before = {number: signal.getsignal(number) for number in supervise.SIGNALS}

    def go_on(_: str) -> None:
        if seen:
            raise Interrupted(seen[0])

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: seen.append(number))
    try:
        yield go_on
        go_on("")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
