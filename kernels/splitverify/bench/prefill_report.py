# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench.prefill_report RESULTS``: the pages of docs/kernels from the records of a run.

Prints the page of the prefill kernel, or with ``--sampler`` the figures of top-k and top-p. Every number is in the records.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from splitverify.bench.prefill import prefill_table

Row = dict[str, Any]


def records(path: Path) -> list[Row]:
    """The JSON lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def ratios(rows: list[Row]) -> str:
    """Markdown: how many times faster ours is than each peer on the same kind of cache, by length."""
    timed = [r for r in rows if "us" in r]
    lengths = sorted({r["length"] for r in timed})
    lines = ["| KV | ours | against | " + " | ".join(f"{n:,}" for n in lengths) + " |", "|---|---|---|" + "---|" * len(lengths)]
    by = {(r["fmt"], r["layout"], r["kernel"], r["length"]): r["us"] for r in timed}
    kinds = dict.fromkeys((r["fmt"], r["layout"], r["kernel"]) for r in timed)
    for fmt, layout, ours in kinds:
        for other_fmt, other_layout, peer in kinds if ours.startswith("splitverify") else ():
            if peer.startswith("splitverify") or (other_fmt, other_layout) != (fmt, layout):
                continue
            cells = [f"{by[fmt, layout, peer, n] / by[fmt, layout, ours, n]:.2f}" for n in lengths]
            lines.append(f"| {fmt}, {layout} | {ours.removeprefix('splitverify ')} | {peer} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def errors(rows: list[Row]) -> str:
    """Markdown: the largest error of each way against exact attention over the same cache."""
    lines = ["| KV | scores | largest error |", "|---|---|---|"]
    ours = [r for r in rows if "error" in r]
    for fmt, layout, kernel in dict.fromkeys((r["fmt"], r["layout"], r["kernel"]) for r in ours):
        most = max(r["error"] for r in ours if (r["fmt"], r["layout"], r["kernel"]) == (fmt, layout, kernel))
        lines.append(f"| {fmt}, {layout} | {kernel.removeprefix('splitverify ')} | {most:.1e} |")
    return "\n".join(lines)


def mixed_table(rows: list[Row]) -> str:
    """Markdown: batches that no one kernel suits."""
    lines = ["| KV | keys | query tokens | kernels | µs | prefill kernel alone, µs |", "|---|---|---|---|---|---|"]
    lines += [f"| {r['fmt']} | {', '.join(f'{n:,}' for n in r['lens'])} | {', '.join(f'{n:,}' for n in r['q'])} | {r['way']} | "
              f"{r['us']:.0f} | {r['prefill_us']:.0f} |" for r in rows]
    return "\n".join(lines)


def ending(results: Path) -> str:
    """The GPU as it was, and ``notes.txt`` where whoever measured left one."""
    notes = results / "notes.txt"
    return ("\n" + notes.read_text().strip() if notes.exists() else "") + "\n```\n" + (results / "gpu.txt").read_text().strip() + "\n```"


def prefill_page(results: Path, name: str) -> Iterator[str]:
    """The page of the prefill kernel."""
    rows = records(results / "prefill.jsonl")
    yield f"""# Measured: prefill attention on an {rows[0]['gpu']} ({name})

Made by `python -m splitverify.bench.prefill_report` from the records of `gpu/measure_prefill.sh`. One layer's call for the last
{rows[0]['chunk']:,} tokens of a request, 24 query and 4 KV heads of 256, by the number of keys, those of the chunk included: milliseconds,
and in brackets TFLOP/s over the visible keys. Median of CUDA-graph replays, L2 flushed before each. `SDPA flash` and `cuDNN` read
contiguous K and V that were repeated for every query head; cuDNN without a mask, so it also does the work behind each query.
What the scores are called: `plain` multiplies 16-bit floats, `exact8` and `int8` multiply K as int8 by q in two terms or in one.

{prefill_table(rows)}

How many times as long the peer took, same run:

{ratios(rows)}

Largest error of a sample of tokens against exact attention over the same cache (the values are about 1; see [numerics](numerics.md)):

{errors(rows)}"""
    if (results / "mixed.jsonl").exists():
        yield f"""
Batches that no one kernel suits. `mixed`: the verify steps by the split kernel, the rest by the prefill kernel; `pieces` and `split`: a few
query tokens behind a long context by the split kernel.

{mixed_table(records(results / 'mixed.jsonl'))}"""
    if (results / "stress_prefill.txt").exists():
        text = (results / "stress_prefill.txt").read_text().splitlines()
        counts = [line.split() for line in text if "random prefill batches" in line]
        pools = sorted({line for line in text if "pool beyond" in line})
        yield (f"\nRandom batches against the reference: {sum(int(c[0]) for c in counts)}, of them "
               f"{sum(int(c[4]) for c in counts)} wrong. " + "; ".join(pools) + ".")
    yield ending(results)


def sampler_page(results: Path) -> Iterator[str]:
    """The figures of the sampler's page."""
    from splitverify.bench.bench_top_k_top_p import sampler_table

    rows = records(results / "sampler.jsonl")
    by = {(r["setting"], r["logits"], r["rows"], r["way"]): r for r in rows}
    for what, words in (("mask_us", "mask"), ("sample_us", "mask and draw")):
        gains = [r[what] / by[key[:3] + ("splitverify",)][what] for key, r in by.items()
                 if key[3] == "vLLM" and key[:3] + ("splitverify",) in by]
        if gains:
            yield f"vLLM's kernel takes {min(gains):.1f} to {max(gains):.1f} times as long as ours with it behind, for the {words}.\n"
    yield sampler_table(rows)
    yield ending(results)


def main(argv: list[str] | None = None) -> int:
    """Print a page; 1 when the records are not there."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.prefill_report", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--name", default="sm_90")
    parser.add_argument("--sampler", action="store_true")
    args = parser.parse_args(argv)
    try:
        print("\n".join(sampler_page(args.results) if args.sampler else prefill_page(args.results, args.name)))
    except (OSError, ValueError) as error:
        print(f"{args.results}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
