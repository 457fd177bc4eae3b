# SPDX-License-Identifier: Apache-2.0
"""What may be tuned about one launch of the prefill kernel, and how its scores may be computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from splitverify.layout import INT8
from splitverify.ops.config import DECODERS

SCORES = {"plain": 0, "int8": 1, "exact8": 2}
"""How q and K are multiplied.

``plain``   as 16-bit floats, K converted
``int8``    as int8: q in one term per row; K as an int8 cache holds it, or quantized on the way (a mean of keys taken off
            first) from another cache. Changes results, see docs/kernels/numerics.md.
``exact8``  int8 caches only: q in two int8 terms, which differ from q by less than its bf16 rounding
"""


@dataclass(frozen=True)
class PrefillConfig:
    """One launch of the prefill kernel.

    ``rows``, ``tile``   rows (query token x head of a group, so at least MAX_GROUP) and keys of a matrix-unit tile
    ``warps``, ``stages``  warps a program, depth of the load pipeline
    ``decode``           how int8 and fp8 bytes become fp16: ``plain``, ``packed`` or ``native``
    ``sum16``            add up P V of one tile in fp16 before it joins the fp32 sum; needs an fp16 operand
    ``lazy``             let the running maximum follow only when a row's has grown by more than that many powers of two
                         (see the kernel), 0 to follow always
    ``spread``           reorder V's columns in shared memory (see ``split_load.spread``)
    """

    rows: int = 128
    tile: int = 64
    warps: int = 8
    stages: int = 2
    decode: str = "plain"
    sum16: bool = False
    spread: bool = False
    lazy: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("rows", (16, 32, 64, 128)), ("tile", (16, 32, 64, 128)), ("warps", (2, 4, 8)),
                              ("stages", (1, 2, 3, 4)), ("decode", tuple(DECODERS))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {allowed}")
        if not 0 <= self.lazy <= 8 or (self.sum16 and self.tile * 127 << self.lazy > 65504):
            raise ValueError(f"lazy={self.lazy}: must be 0 to 8, and with sum16 tile * 127 * 2**lazy must fit fp16")

    def as_dict(self) -> dict[str, int | str | bool]:
        """The fields by name, as the selection tables store them."""
        return asdict(self)


def scores_refused(scores: str, fmt: int) -> str | None:
    """None when a cache of that format can be read with ``scores``, otherwise the reason in one line."""
    if scores not in SCORES:
        return f"scores {scores!r} is not one of {', '.join(SCORES)}"
    if scores == "exact8" and fmt != INT8:
        return "exact8 scores need an int8 cache"
    return None
