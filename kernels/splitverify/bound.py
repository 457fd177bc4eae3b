# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bound``: how fast the prefill kernel can be at best on an RTX 3090, from its machine code. Derived.

Compiles what the table for 8.6 gives, disassembles it with the nvdisasm inside the triton package, counts the
instructions of the loop over whole tiles, and turns them into cycles: matrix instructions by the data sheet's rates, all others
by four warp instructions a cycle and multiprocessor. No GPU is touched, and nothing here is a measurement.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from splitverify.crosscompile import compile_prefill
from splitverify.ops.prefill_config import PrefillConfig
from splitverify.prefill_selection import select_prefill
from splitverify.untuned_prefill import launch_of

MULTIPROCESSORS, HERTZ = 82, 1.695e9
"""NVIDIA's white paper on GA102: RTX 3090, boost clock."""
PRODUCTS = {"IMMA.16832": 4096, "HMMA.16816": 2048}
"""Products of one warp instruction."""
RATES = {"IMMA.16832": 1024, "HMMA.16816.F16": 512, "HMMA.16816.F32": 256}
"""Products a cycle and multiprocessor, same source: 284, 142 and 71 dense TFLOPS."""
REPORTED = {4096: 2.72, 16384: 14.22, 51200: 47.07}
"""Milliseconds of FlashAttention 2 for such a chunk on an RTX 3090 at 250 W, as its users reported them; keys."""


@dataclass(frozen=True)
class Loop:
    """Warp instructions of one tile: matrix instructions by name, and how many others."""

    matrix: dict[str, int]
    others: int

    def matrix_cycles(self, warps: int) -> float:
        """Cycles of a multiprocessor for a tile's matrix instructions."""
        return sum(n * warps * PRODUCTS[name.rsplit(".", 1)[0] if name not in RATES or name.startswith("HMMA") else name]
                   / RATES[name] for name, n in self.matrix.items())

    def issue_cycles(self, warps: int) -> float:
        """Cycles of a multiprocessor to issue the others: four schedulers, one instruction each."""
        return self.others * warps / 4


def loops(sass: str) -> Iterator[Counter[str]]:
    """Instruction counts of every loop of a disassembly that multiplies matrices, in the order of the code."""
    lines = sass.splitlines()
    labels = {line.strip()[:-1]: i for i, line in enumerate(lines) if re.fullmatch(r"\.L_x_\d+:", line.strip())}
    for i, line in enumerate(lines):
        back = re.search(r"BRA.*`\((\.L_x_\d+)\)", line)
        if back and labels.get(back[1], i) < i:
            names = (re.match(r"\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P\d+ )?([A-Z][A-Z0-9_.]*)", x)
                     for x in lines[labels[back[1]]:i + 1])
            counts = Counter(m[1] for m in names if m)
            if any(name.startswith(("IMMA", "HMMA")) for name in counts):
                yield counts


def main_loop(cubin: bytes) -> Loop:
    """The loop over whole tiles: the first that multiplies matrices."""
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        sass = subprocess.run([str(tool), "-c", file.name], capture_output=True, text=True, check=True).stdout
    counts = next(loops(sass))
    matrix: Counter[str] = Counter()
    for name, n in counts.items():
        for short in RATES:
            if name.startswith(short):
                matrix[short] += n
    return Loop(dict(matrix), sum(counts.values()) - sum(matrix.values()))


def milliseconds(cycles: float, config: PrefillConfig, group: int, kv_heads: int, keys: int, chunk: int = 2048) -> float:
    """Time of a chunk when every tile takes so many cycles and all multiprocessors are always busy."""
    tokens = config.rows // group
    tiles = sum(-(-(keys - chunk + min(start + tokens, chunk)) // config.tile) for start in range(0, chunk, tokens))
    return tiles * kv_heads * cycles / MULTIPROCESSORS / HERTZ * 1e3


def lines() -> Iterator[str]:
    """The table of docs/kernels/sm_86_bound.md."""
    yield ("| cache | scores | matrix instructions a warp and tile | others | cycles: matrix, others | "
           + " | ".join(f"{n:,} keys: ms, overlapped to not at all" for n in REPORTED) + " |")
    yield "|---|---|---|---|---|" + "---|" * len(REPORTED)
    for fmt, layout, scores in (("int8", "planar", "exact8"), ("int8", "planar", "int8"), ("bf16", "inline", "plain"),
                                ("bf16", "inline", "int8")):
        config = select_prefill((8, 6), head_size=256, fmt=fmt, layout=layout, scores=scores).config
        need = compile_prefill(launch_of(fmt, layout, 256), config, scores, 86)
        loop = main_loop(need.cubin)
        matrix, issue = loop.matrix_cycles(config.warps), loop.issue_cycles(config.warps)
        per_block = max(1, min((100 << 10) // (need.shared + 1024), 65536 // (need.registers * config.warps * 32)))
        cells = [f"{milliseconds(max(matrix, issue), config, 6, 4, n):.1f} to {milliseconds(matrix + issue, config, 6, 4, n):.1f}"
                 for n in REPORTED]
        yield (f"| {fmt} {layout}, {config.rows} rows x {config.tile} keys, {per_block} a multiprocessor | {scores} | "
               + ", ".join(f"{n} {name}" for name, n in loop.matrix.items())
               + f" | {loop.others} | {matrix:.0f}, {issue:.0f} | " + " | ".join(cells) + " |")
    yield "| FlashAttention 2, bf16, as reported | | | | | " + " | ".join(f"{t}" for t in REPORTED.values()) + " |"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m splitverify.bound", description=__doc__).parse_args()
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
