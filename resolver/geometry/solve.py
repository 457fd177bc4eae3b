"""The largest value of one thing that the pool still holds: length, seats or drafts. Agrees with trying every value."""

from __future__ import annotations

from collections.abc import Callable

from resolver.geometry.pool import numbers
from resolver.geometry.shapes import Setup

MOST_DRAFTS = 64


def holds(setup: Setup) -> bool:
    """Whether one request at full length fits into the pool: what the engine checks before it boots."""
    sheet = numbers(setup)
    pages = sheet.get("pool_pages")
    return pages is not None and sheet["request_pages"] <= pages


def max_model_len(setup: Setup) -> int:
    """The longest request that fits, in tokens; 0 when none does. At most the model's own limit, where that is known.

    A longer request never takes fewer pages, so halving finds the last length that fits.
    """
    top = setup.shape.longest or _no_more(setup)
    return _last(lambda n: holds(setup._replace(max_model_len=n)), top)


def _no_more(setup: Setup) -> int:
    """A length that surely does not fit: every page one block of context, and one more."""
    sheet = numbers(setup)
    return max(1, (sheet.get("pool_pages") or 0) + 1) * sheet["block"]


def num_speculative_tokens(setup: Setup) -> int | None:
    """The most drafts with which one request at full length fits; None when not even one draft does.

    More drafts raise the block, which can save pages elsewhere, so every count is tried.
    """
    fitting = [k for k in range(1, MOST_DRAFTS + 1) if holds(setup._replace(drafts=k))]
    return max(fitting, default=None)


def max_num_seqs(setup: Setup) -> tuple[int, int, int]:
    """Seats that the pool fills: with requests at full length, with short ones, and before any context."""
    sheet = numbers(setup)
    low = sheet.get("residents_low") or 0
    return sheet.get("residents_at_max_len") or 0, low, sheet.get("residents_high") or low


def _last(fits: Callable[[int], bool], top: int) -> int:
    """The largest number from 1 to `top` for which `fits` holds, when it holds for every smaller one too; else 0."""
    low, high = 0, top
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
