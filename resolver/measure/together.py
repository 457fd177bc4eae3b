"""How do several requests run at once? A thread each, started at one moment, and none that a Ctrl-C has to wait for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

R = TypeVar("R")


def together(calls: Sequence[Callable[[], R]]) -> list[R]:
    """Run all calls at once and return what they give, in order. An exception of one is raised here."""
    if len(calls) == 1:
        return [calls[0]()]
    barrier = threading.Barrier(len(calls))

    def begin(call: Callable[[], R]) -> Callable[[], R]:
        def run() -> R:
            barrier.wait()
            return call()

        return run

    found = dict(several([begin(call) for call in calls], len(calls)))
    return [found[at] for at in range(len(calls))]


def several(calls: Sequence[Callable[[], R]], workers: int) -> Iterator[tuple[int, R]]:
    """Run calls, `workers` at a time, and yield (index, what it gave) as each ends. An exception of one is raised here."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, R | None, BaseException | None]] = queue.SimpleQueue()
    for at in range(len(calls)):
        waiting.put(at)

    def work() -> None:
        while True:
            try:
                at = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((at, calls[at](), None))
            except BaseException as error:
                done.put((at, None, error))

    for _ in range(min(workers, len(calls))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in calls:
            at, result, error = done.get()
            if error is not None:
                raise error
            yield at, result  # type: ignore[misc]
    finally:
        while not waiting.empty():
            try:
                waiting.get_nowait()
            except queue.Empty:
                break
