"""Has the card its memory back? A driver may take seconds to free what an engine that has just ended held."""

from __future__ import annotations

import time
from collections.abc import Callable

from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.gpu import IN_USE_MIB, Gpus

STILL, PAUSE = 2.0, 0.25
"""Seconds without a change after which what is in use is somebody else's, and between two looks."""

Reading = Callable[[], tuple[int, int] | None]


def reader(world: World) -> Reading:
    """Asks for the total and free MiB of the fullest visible card; None where there is no card, or it does not tell."""

    def read() -> tuple[int, int] | None:
        cards = Gpus(world)
        try:
            total, free = cards.vram_mib(), cards.vram_free_mib()
        except Unknown:
            return None
        return None if total is None or free is None else (total, free)

    return read


def wait_until_free(read: Reading, seconds: float = 30.0, go_on: Callable[[str], None] = lambda _: None) -> int | None:
    """Wait until the card is empty, or nothing is given back any more. Returns the MiB in use; None where nobody knows."""
    until = time.monotonic() + seconds
    least, since = None, time.monotonic()
    while True:
        seen = read()
        if seen is None:
            return None
        used, now = seen[0] - seen[1], time.monotonic()
        if least is None or used < least:
            least, since = used, now
        if used <= IN_USE_MIB or now > until or now - since > STILL:
            return used
        go_on("")
        time.sleep(PAUSE)
