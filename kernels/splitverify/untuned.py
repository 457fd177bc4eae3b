# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.untuned --arch 86``: make a table for an architecture that nobody could measure on.

Takes, for each kind of launch, the first config of a list that compiles without register spills and fits the shared
memory. The lists put first what the arithmetic of these GPUs asks for: exact rows (32 + 16, 64 + 32) instead of padding,
integer scores on int8 caches, two blocks a multiprocessor. ``measured`` stays null.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from splitverify.crosscompile import Launch, compile_launch
from splitverify.ops.config import KernelConfig
from splitverify.tables import HERE, write_table

BLOCKS = {"bf16": 448, "int8": 864, "fp8": 880}
FOREVER = 1 << 30


def tries(fmt: str, rows: int) -> Iterator[KernelConfig]:
    """Configs for that many rows, most wanted first. Below sm_89 there is no native fp8, and packed suits all."""
    shapes = {16: [(16, 0)], 32: [(32, 0)], 48: [(32, 16), (64, 0), (32, 0)], 64: [(64, 0), (32, 0)],
              96: [(64, 32), (64, 0), (32, 16), (32, 0)]}[rows]
    decode = "plain" if fmt == "bf16" else "packed"
    for r, r2 in shapes:
        for tile, warps, stages in ((32, 4, 2), (32, 8, 2), (64, 8, 2), (32, 4, 1), (32, 8, 1), (16, 4, 2), (16, 4, 1)):
            yield KernelConfig(tile, r, r2, warps, stages, 16, decode, int8_qk=fmt == "int8")
    yield KernelConfig(16, 16, 0, 4, 1, 16, decode)


def kinds() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """(format, layout, rows, launch fields) of everything a table must answer for."""
    for fmt, layout in (("bf16", "inline"), ("int8", "planar"), ("int8", "inline"), ("fp8", "inline")):
        for rows in (16, 32, 48, 96):
            yield fmt, layout, rows, {}
        for rows in (32, 64):
            yield fmt, layout, rows, dict(head_size=128, num_heads=32, num_kv_heads=8, causal=False, window=2048)


def main() -> None:
    """Compile and write the table; prints what each kind took."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.untuned", description=__doc__)
    parser.add_argument("--arch", type=int, required=True, help="compute capability times ten")
    args = parser.parse_args()
    found = []
    for fmt, layout, rows, fields in kinds():
        for config in tries(fmt, rows):
            launch = Launch(fmt, config, block_size=BLOCKS[fmt], layout=layout, **fields)
            need = compile_launch(launch, args.arch)
            if need.spills == 0 and need.fits():
                break
        else:
            raise SystemExit(f"nothing fits {fmt} {layout} {rows} rows {fields}")
        entry = config.as_dict()
        del entry["segments"]
        per_sm = 2.0 if need.shared <= 50 << 10 and config.warps == 4 else 1.0
        print(f"{fmt} {layout} {rows} rows {fields.get('head_size', 256)}: {entry} {need.registers} registers, "
              f"{need.shared} B shared", flush=True)
        found.append(dict(head_size=launch.head_size, format=fmt, layout=layout, max_rows=rows, max_length=FOREVER,
                          measured=None, config=dict(entry, programs_per_sm=per_sm)))
    write_table(HERE / f"sm_{args.arch}.json", found)


if __name__ == "__main__":
    main()
