# SPDX-License-Identifier: Apache-2.0
"""What :mod:`splitverify.stress` runs: random batches, and the configs that each of them goes through.

Compiling takes seconds and running milliseconds. So *kinds*, of which each needs one compilation a kernel, are drawn first
(a layer, pages, a mask, configs), and then many batches of each. Kinds depend on nothing but their number, batches on
nothing but a seed and their own number: any one can be drawn again.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, replace

from splitverify.cases import Case
from splitverify.ops.config import MAX_QUERY_LEN, KernelConfig
from splitverify.ops.verify_attention import raw_keys_refused
from splitverify.selection import load_table, table_name

KERNELS = ("split", "turned", "raw keys")
"""The kernels that an 8-bit batch goes through; ``raw keys`` is the turned one that does not decode K."""
# (tile, rows, rows2, warps, stages)
SPLIT = ((32, 32, 0, 4, 2), (64, 64, 0, 4, 2), (32, 32, 16, 4, 2), (32, 64, 0, 4, 3), (16, 16, 0, 4, 2))
# (tile, rows, warps, stages, parts); two parts are for a head size of 256.
TURNED = ((64, 64, 4, 3, 2), (64, 32, 4, 3, 1), (128, 64, 8, 2, 1), (64, 16, 4, 3, 1), (64, 64, 4, 2, 2))
LAYERS = ((24, 4, 256), (24, 4, 256), (32, 8, 128), (5, 1, 128), (16, 1, 256), (2, 2, 128), (16, 2, 256))
BLOCKS = (16, 48, 448, 864, 880)
KINDS = {"int8": 36, "fp8": 36, "bf16": 24}
"""How many there are, by format."""


@dataclass(frozen=True)
class Kind:
    """A case whose lengths are not drawn yet, and its configs by kernel; their segments are not drawn yet either."""

    case: Case
    configs: dict[str, KernelConfig]
    direct: bool


@functools.cache
def shipped(capability: tuple[int, int], head_size: int, fmt: str, layout: str, turned: bool) -> list[KernelConfig]:
    """The configs of one of the two kernels that the GPU's own table holds for such a cache."""
    found = []
    for row in load_table(table_name(capability)):
        config = {k: v for k, v in row["config"].items() if k != "programs_per_sm"}
        if (row["head_size"], row["format"], row["layout"]) == (head_size, fmt, layout) and config.get("turned", False) == turned:
            found.append(KernelConfig(**config))
    return found


def config_for(rng: random.Random, kernel: str, case: Case, capability: tuple[int, int]) -> KernelConfig:
    """A config of that kernel: half of the time a shipped one, where the table has any."""
    group = case.num_heads // case.num_kv_heads
    found = [c for c in shipped(capability, case.head_size, case.fmt, case.layout, kernel != "split")
             if c.rows + c.rows2 >= group]
    decode = "plain" if case.fmt == "bf16" else "packed"
    if found and rng.random() < 0.5:
        config = rng.choice(found)
    elif kernel == "split":
        tile, rows, rows2, warps, stages = rng.choice(SPLIT)
        config = KernelConfig(tile, rows, rows2, warps, stages, 1, decode, case.fmt == "int8" and rng.random() < 0.5)
        if case.fmt == "fp8" and capability >= (8, 9) and rng.random() < 0.5:
            config = replace(config, decode="native")
    else:
        tile, rows, warps, stages, parts = rng.choice(TURNED)
        config = KernelConfig(tile, rows, 0, warps, stages, 1, decode, turned=True,
                              parts=parts if case.head_size == 256 else 1)
    return replace(config, raw_keys=kernel == "raw keys")


def kernels_of(fmt: str, capability: tuple[int, int]) -> tuple[str, ...]:
    """Which kernels take that format there: below 8.9 no matrix unit multiplies e4m3, and not every triton may have raw keys."""
    if fmt == "bf16":
        return KERNELS[:1]
    return KERNELS if (fmt == "int8" or capability >= (8, 9)) and raw_keys_refused() is None else KERNELS[:2]


def draw_kind(number: int, fmt: str, capability: tuple[int, int]) -> Kind:
    """Kind ``number`` of that format."""
    rng = random.Random(f"kind {fmt} {number}")
    heads, kv_heads, size = rng.choice(LAYERS)
    windowed = size == 128 and rng.random() < 0.5
    layout = rng.choice(("inline", "planar", "planar")) if fmt == "int8" else "inline"
    case = Case(fmt=fmt, num_heads=heads, num_kv_heads=kv_heads, head_size=size, block_size=rng.choice(BLOCKS),
                layout=layout, head_major=rng.random() < 0.3, causal=not windowed,
                window=rng.choice((0, 128, 2048)) if windowed else 0)
    return Kind(case, {k: config_for(rng, k, case, capability) for k in kernels_of(fmt, capability)}, rng.random() < 0.15)


def draw_batch(kind: Kind, seed: int, number: int) -> tuple[Case, dict[str, KernelConfig]]:
    """Batch ``number`` of ``seed``: 1 to 5 ragged requests, some of them padding, and the configs to run it with."""
    rng = random.Random(f"batch {seed} {number}")
    longest = rng.choice((16, 16, 16, MAX_QUERY_LEN))
    q = tuple(rng.choice((0, 1, 4, 8, rng.randint(1, 16), rng.randint(1, longest))) for _ in range(rng.randint(1, 5)))
    q = q if any(q) else (4, *q[1:])
    most = 12 if rng.random() < 0.9 else 14
    lens = tuple(max(n, 1) + int(rng.choice((0, rng.random() * 64, rng.random() * 1000, 2 ** (rng.random() * most))))
                 for n in q)
    case = replace(kind.case, lens=lens, q=q, page_padding=rng.choice((0, 1024)), outliers=rng.random() < 0.2,
                   extra_blocks=rng.choice((0, 3, 40)), seed=rng.getrandbits(30))
    segments = 1 if kind.direct else rng.choice((2, 3, 7, 16) if sum(q) > 64 else (2, 3, 7, 16, 33, 128))
    return case, {k: replace(c, segments=segments) for k, c in kind.configs.items()}
