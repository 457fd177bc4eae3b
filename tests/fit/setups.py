"""Setups that the tests of the arithmetic share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resolver.geometry.data import knowledge
from resolver.geometry.shapes import Attention, Recurrent, Setup, Shape

REPO = Path(__file__).resolve().parents[2]
KNOWN = knowledge(REPO)
QWEN = KNOWN.shapes["qwen3.8-27b"]
POOL, POOL_HUGE = 5583457484, 5261334938
SMALL = Shape("small", Attention(2, 4, 256), Recurrent(6, 10240, 4, 786432), 1, Attention(2, 8, 128, 2048))
"""The model booted on an H200: 2 layers of attention, 6 of state, one MTP layer, a drafter of 2."""


def dflash(form: str, drafts: int = 7, length: int = 65536, pool: int | None = POOL, **more: Any) -> Setup:
    """The DFlash2 server of one 24 GiB card on the patched engine."""
    setup = Setup(QWEN, KNOWN.formats[form], length, drafts, "dflash", grouping="patched", pool_bytes=pool)
    return setup._replace(**more)
