# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.untuned_prefill --arch 86``: the prefill table of an architecture that nobody could measure on.

Takes, for each kind of launch, the first config of a list that compiles without register spills and fits the shared
memory. Consumer GPUs (8.6, 8.9, 12.0) multiply fp16 at twice the rate when they add in fp16: there the tile's sums are
fp16 wherever the operands may be.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from splitverify.crosscompile import Launch, compile_prefill
from splitverify.ops.config import KernelConfig
from splitverify.ops.prefill_config import PrefillConfig
from splitverify.tables import write_table

HERE = Path(__file__).parent / "data" / "prefill"
BLOCKS = {"bf16": 448, "int8": 864, "fp8": 880}
KINDS = (("int8", "planar", "exact8"), ("int8", "planar", "int8"), ("int8", "planar", "plain"),
         ("int8", "inline", "exact8"), ("int8", "inline", "int8"), ("int8", "inline", "plain"),
         ("bf16", "inline", "plain"), ("bf16", "inline", "int8"), ("fp8", "inline", "plain"), ("fp8", "inline", "int8"))
"""(format, layout, scores) that a table answers for, at head sizes 256 and 128."""
LAYERS = {256: (24, 4), 128: (32, 8)}
"""Query and KV heads of the layers that are compiled: the target's, and one of head size 128."""


def launch_of(fmt: str, layout: str, head_size: int) -> Launch:
    """The layer and cache to compile for."""
    heads, kv_heads = LAYERS[head_size]
    return Launch(fmt, KernelConfig(), head_size=head_size, num_heads=heads, num_kv_heads=kv_heads,
                  block_size=BLOCKS[fmt], layout=layout)


def tries(fmt: str, scores: str, arch: int) -> Iterator[PrefillConfig]:
    """Configs, most wanted first: many rows for few reads of K and V, then what is left of registers and shared memory."""
    consumer = arch in (86, 89, 120)
    sum16 = consumer and (fmt != "bf16" or scores == "int8")
    lazy = 0 if fmt == "bf16" and sum16 else 3 if sum16 else 8
    decode = "plain" if fmt == "bf16" else "packed"
    for rows, tile, warps, stages in ((128, 64, 8, 2), (64, 64, 8, 2), (64, 64, 8, 1), (64, 32, 8, 2), (64, 32, 8, 1),
                                      (32, 64, 4, 2), (32, 32, 4, 2), (32, 32, 4, 1), (16, 32, 4, 1), (16, 16, 4, 1)):
        if rows < 128 or not consumer:                             # 128 rows of 256 spill on 99 KiB of shared memory, always
            yield PrefillConfig(rows, tile, warps, stages, decode, sum16, lazy=lazy)


def main() -> None:
    """Compile and write the table; prints what each kind took."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.untuned_prefill", description=__doc__)
    parser.add_argument("--arch", type=int, required=True, help="compute capability times ten")
    parser.add_argument("--head-sizes", default="256,128", help="which rows to make; the file's others stay")
    args = parser.parse_args()
    sizes = list(map(int, args.head_sizes.split(",")))
    path = HERE / f"sm_{args.arch}.json"
    found = []
    if path.exists():
        found = [row for row in json.loads(path.read_text())["rows"] if row["head_size"] not in sizes]
    for head_size in sizes:
        for fmt, layout, scores in KINDS:
            for config in tries(fmt, scores, args.arch):
                need = compile_prefill(launch_of(fmt, layout, head_size), config, scores, args.arch)
                if need.spills == 0 and need.fits():
                    break
            else:
                raise SystemExit(f"nothing fits {fmt} {layout} {scores} {head_size}")
            print(f"{fmt} {layout} {scores} {head_size}: {config.as_dict()} {need.registers} registers, "
                  f"{need.shared} B shared", flush=True)
            found.append(dict(head_size=head_size, format=fmt, layout=layout, scores=scores, measured=None,
                              config=config.as_dict()))
    write_table(path, found)


if __name__ == "__main__":
    main()
