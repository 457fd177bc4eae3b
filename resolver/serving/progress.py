"""How far is the boot? Read from the engine's own log, shown with the time gone by."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from typing import TextIO

PHASES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"non-default args:", "reading the configuration"),
        (r"Initializing a V1 LLM engine", "starting the engine's processes"),
        (r"Starting to load model|Loading safetensors|Loading drafter model", "loading the model"),
        (r"Loading weights took|Model loading took", "preparing the model"),
        (r"Dynamo bytecode transform|Compiling a graph|torch\.compile took|Directly load", "compiling"),
        (r"Available KV cache memory|KV cache size:", "making the KV cache"),
        (r"Warming up|[Aa]utotun", "warming up"),
        (r"Capturing CUDA graphs", "capturing CUDA graphs"),
        (r"Starting vLLM (API )?server", "opening the server"),
        (r"Application startup complete", "asking the server"),
    )
)
"""Lines of vLLM 0.31.0 (and, as far as seen, of 0.28.0 to 0.33.0) and what each says of the boot, in order of the boot."""
SHARE = re.compile(r"(\d{1,3})%")
FIRST = "importing the engine"


class Progress:
    """Shows phases: a line each, or on a terminal one line that changes.

    Attributes:
        phase: where the boot is.
        seen: (phase, seconds since the start) of each, in order.
    """

    def __init__(self, stream: TextIO | None = None, live: bool | None = None, quiet: bool = False) -> None:
        """Take the stream (standard error) and whether it can change its last line (None: asks it)."""
        self.stream = sys.stderr if stream is None else stream
        self.live = _can_change(self.stream) if live is None else live
        self.quiet = quiet
        self.began = time.monotonic()
        self.phase, self._at, self._open, self._detail, self._rank = "", 0.0, False, "", -1
        self.seen: list[tuple[str, float]] = []
        self.enter(FIRST)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def read(self, line: str) -> None:
        """Take a line of the log."""
        for rank, (pattern, phase) in enumerate(PHASES):
            if pattern.search(line):
                if rank > self._rank:  # a process that says it later than another does not move the boot back
                    self._rank = rank
                    self.enter(phase)
                break
        else:
            return
        share = SHARE.search(line)
        self._detail = f" {share[1]} %" if share else ""

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self.phase, self._at, self._detail = phase, self.elapsed(), ""
        self.seen.append((phase, self._at))
        if self.live:
            self.tick()
        else:
            self.line(f"{self._at:7.1f} s  {phase}")

    def tick(self) -> None:
        """Refresh the live line."""
        if not self.live or self.quiet:
            return
        now = self.elapsed()
        text = f"{now:7.1f} s  {self.phase}{self._detail}" + (f" ({now - self._at:.0f} s)" if self._at else "")
        self._write(f"\r\x1b[2K{text[: shutil.get_terminal_size().columns - 1]}")
        self._open = True

    def clear(self) -> None:
        """Take the live line away, before something else is written."""
        if self._open:
            self._write("\r\x1b[2K")
            self._open = False

    def line(self, text: str, always: bool = False) -> None:
        """Write a line that stays; with `quiet` only one that is wanted `always`."""
        if self.quiet and not always:
            return
        self.clear()
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            self.live = False  # a terminal that is gone is no reason to stop the engine


def _can_change(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    except ValueError:
        return False
