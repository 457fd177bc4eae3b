"""A boot against the prediction, line by line: match, differs by how much, or not in the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resolver.bootlog.read import Boot
from resolver.geometry import solve
from resolver.geometry.budget import GIB, memory, parts
from resolver.geometry.data import Band
from resolver.geometry.pool import numbers
from resolver.views.fit import verdict
from resolver.views.fit_setup import Asked

ROUNDING = 0.005
"""The log rounds GiB to two digits."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing compared. `predicted` is a value, a band (low, high), or None: it is not predicted."""

    name: str
    predicted: Any
    said: Any

    @property
    def answer(self) -> str:
        """match, differs by ..., not in the log, or not predicted."""
        if self.said is None:
            return "not in the log"
        if self.predicted is None:
            return "not predicted"
        if isinstance(self.predicted, tuple):
            low, high = self.predicted
            if low <= self.said <= high:
                return "match"
            off = self.said - (low if self.said < low else high)
            return f"differs by {_signed(off)}"
        if isinstance(self.said, list):
            return "match" if self.predicted in self.said else "differs"
        if self.predicted == self.said:
            return "match"
        if isinstance(self.said, (int, float)) and isinstance(self.predicted, (int, float)):
            return f"differs by {_signed(self.said - self.predicted)}"
        return "differs"


def _signed(off: float) -> str:
    return f"{off:+,}" if isinstance(off, int) else f"{off:+.2f}"


def compare(boot: Boot, ask: Asked, backend: str | None, largest_capture: int | None) -> list[Line]:
    """All that can be compared. `backend` and `largest_capture` are what the launch asks for.

    Raises NoGeometry where the arithmetic does not cover the launch.
    """
    said = boot.said
    setup = ask.setup
    sheet = numbers(setup)
    sizes = said.get("capture_sizes")
    return [
        Line("longest request", setup.max_model_len, said.get("max_model_len")),
        Line("attention backend", backend, said.get("backends")),
        Line("block", sheet["block"] if setup.shape.recurrent else None, said.get("block")),
        Line("weights GiB", _weights(ask), said.get("loaded_gib")),
        Line("card GiB", _ends(memory(ask.known, ask.card)) if ask.card else None, said.get("card_gib")),
        Line("pool GiB", _pool(ask), said.get("pinned_gib", said.get("available_gib"))),
        Line("one request GiB", _rounded(sheet["request_bytes"] / GIB), said.get("needed_gib")),
        Line("pool tokens", _tokens(boot, ask), said.get("pool_tokens")),
        Line("largest length", _largest(boot, ask), said.get("estimated_max_len")),
        Line("largest capture", largest_capture, max(sizes) if sizes else None),
        Line("peak GiB", None, said.get("peak_gib")),
        Line("graphs GiB", None, said.get("graphs_gib")),
    ]


def _ends(band: Band) -> tuple[float, float]:
    return band.low - ROUNDING, band.high + ROUNDING


def _rounded(value: float) -> tuple[float, float]:
    return value - ROUNDING, value + ROUNDING


def _weights(ask: Asked) -> tuple[float, float] | None:
    """Weights and drafter: the engine loads both before it says how much that took."""
    found = [
        p.band for p in (parts(ask.known, ask.load) or [] if ask.load else []) if p.name != "context, peak, graphs"
    ]
    if not found:
        return None
    return sum(b.low for b in found) - ROUNDING, sum(b.high for b in found) + ROUNDING


def _pool(ask: Asked) -> tuple[float, float] | None:
    pool = verdict(ask).pool
    return None if pool is None else _ends(pool)


def _tokens(boot: Boot, ask: Asked) -> tuple[int, int] | None:
    """The tokens that follow: from the pin, else from the GiB that the log names, else from the band."""
    if ask.setup.pool_bytes is not None:
        tokens = numbers(ask.setup)["printed_tokens"]
        return tokens, tokens
    named = boot.said.get("available_gib")
    pool = _rounded(named) if named is not None else _pool(ask)
    if pool is None:
        return None
    low, high = (numbers(ask.setup._replace(pool_bytes=max(0, int(end * GIB))))["printed_tokens"] for end in pool)
    return low, high


def _largest(boot: Boot, ask: Asked) -> tuple[int, int] | None:
    """What the engine would name as the longest that fits, from the GiB in the same line of the log."""
    named = boot.said.get("available_gib")
    if named is None:
        return None
    low, high = (solve.max_model_len(ask.setup._replace(pool_bytes=max(0, int(end * GIB)))) for end in _rounded(named))
    return low, high
