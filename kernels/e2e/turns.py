# SPDX-License-Identifier: Apache-2.0
"""Several engines share one GPU: they boot together, are timed one after another, and do the rest together.

Everything is said with files in one folder, so that an engine that dies holds up nobody: whoever starts the engines puts
down `NAME.dead` for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.1


@dataclass(frozen=True)
class Turns:
    """One engine's view. `names` are all engines in the order of their turns; `deadline` is when everything must end.

    `others` boot beside the engines and are not timed, so a boot of theirs must be over before anybody is.
    """

    folder: Path
    name: str
    names: tuple[str, ...]
    deadline: float
    others: tuple[str, ...] = ()

    def say(self, what: str) -> None:
        """Tell the others: `up`, `timed`, `done` or `dead`."""
        (self.folder / f"{self.name}.{what}").touch()

    def _said(self, name: str, what: str) -> bool:
        return (self.folder / f"{name}.{what}").exists() or (self.folder / f"{name}.dead").exists()

    def _wait(self, names: tuple[str, ...], what: str, until: float) -> bool:
        while not all(self._said(name, what) for name in names):
            if time.time() > min(until, self.deadline):
                return False
            time.sleep(PAUSE)
        return True

    def all_up(self, longest: float) -> bool:
        """Wait until everything is up, at most so many seconds."""
        return self._wait((*self.names, *self.others), "up", time.time() + longest)

    def my_turn(self) -> bool:
        """Wait until every engine before this one was timed."""
        return self._wait(self.names[:self.names.index(self.name)], "timed", self.deadline)

    def all_timed(self) -> bool:
        """Wait until every engine was timed."""
        return self._wait(self.names, "timed", self.deadline)

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.time()
