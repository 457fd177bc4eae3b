# SPDX-License-Identifier: Apache-2.0
"""What may be tuned about one launch of the split kernel, and nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from splitverify.ops.limits import HEAD_SIZES, MAX_GROUP, MAX_QUERY_LEN, MAX_SEGMENTS

__all__ = ["DECODERS", "HEAD_SIZES", "MAX_GROUP", "MAX_QUERY_LEN", "MAX_SEGMENTS", "KernelConfig"]

DECODERS = {"plain": 0, "packed": 1, "native": 2}


@dataclass(frozen=True)
class KernelConfig:
    """One launch of the split kernel.

    ``tile``      keys a step (power of two, at least 16)
    ``rows``      rows of the first matrix-unit tile (16, 32, 64 or 128); ``rows2`` of a second one, 0 for none. Together
                  they may be less than the rows of a request: it is then cut into several query tiles.
    ``warps``, ``stages``  warps a program, depth of the load pipeline
    ``segments``  into how many parts the visible keys are split
    ``decode``    how int8 and fp8 bytes become fp16: ``plain``, ``packed`` or ``native``
    ``int8_qk``   int8 caches only: multiply K as it is stored, by q in two int8 terms
    ``turned``    8-bit caches only: keys are the matrix unit's rows, queries its columns (``ops/turned_kernel``); no
                  ``int8_qk``, no ``rows2``
    ``parts``     of a turned kernel: 2 takes K and V in smaller pieces, fewer registers for more steps (head size 256)
    ``raw_keys``  of a turned kernel: multiply K as it is stored, by q in two terms of 8 bits. fp8 so from compute
                  capability 8.9 on. No table has such a config (docs/kernels/README.md says why); triton 3.9 or later
    """

    tile: int = 64
    rows: int = 64
    rows2: int = 0
    warps: int = 4
    stages: int = 2
    segments: int = 16
    decode: str = "plain"
    int8_qk: bool = False
    turned: bool = False
    parts: int = 1
    raw_keys: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("tile", (16, 32, 64, 128)), ("rows", (16, 32, 64, 128)), ("rows2", (0, 16, 32, 64)),
                              ("warps", (1, 2, 4, 8)), ("stages", (1, 2, 3, 4, 5)), ("decode", tuple(DECODERS))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {allowed}")
        if self.turned and (self.int8_qk or self.rows2):
            raise ValueError("turned takes neither int8_qk nor rows2")
        if self.parts not in (1, 2) or (self.parts == 2 and not self.turned):
            raise ValueError(f"parts={self.parts}: must be 1, or 2 for a turned kernel")
        if self.raw_keys and not self.turned:
            raise ValueError("raw_keys is for a turned kernel")
        if not 1 <= self.segments <= MAX_SEGMENTS:
            raise ValueError(f"segments={self.segments}: must be 1 to {MAX_SEGMENTS}")

    def as_dict(self) -> dict[str, int | str | bool]:
        """The fields by name, as the selection tables store them."""
        return asdict(self)
