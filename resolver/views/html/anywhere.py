"""Texts of a page that is read on other machines: no folder of whoever wrote it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path


class Anywhere:
    """Paths below the launcher's folder become relative to it; an interpreter or a launch.py elsewhere is named without its folder.

    Attributes:
        launcher: the words that start launch.py in the launcher's folder.
    """

    def __init__(self, root: Path, launcher: Sequence[str]) -> None:
        self._inside = str(root).rstrip("/") + "/"
        self._path = re.compile(rf"(?<![\w./-]){re.escape(self._inside)}")
        self._typed = " ".join(launcher)
        self.launcher = " ".join(self._named(word) for word in launcher)

    def __call__(self, text: str) -> str:
        """The text as it may be read anywhere."""
        if self._typed != self.launcher:
            text = text.replace(self._typed, self.launcher)
        return self._path.sub("", text) if self._inside in text else text

    def _named(self, word: str) -> str:
        """A word of the launcher that works in its folder."""
        inside = self._path.sub("", os.path.abspath(word) if "/" in word else word)
        return os.path.basename(inside) if os.path.isabs(inside) else inside
