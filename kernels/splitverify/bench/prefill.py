# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench.prefill``: time of a prefill's chunk over context. Prints no speed while a result is wrong."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from splitverify.bench import Wrong

Row = dict[str, Any]


def prefill_table(rows: list[Row]) -> str:
    """Markdown: one line a kernel, one column a length: milliseconds and, in brackets, TFLOP/s."""
    rows = [r for r in rows if "us" in r]
    lengths = sorted({r["length"] for r in rows})
    lines = ["| KV | layout | kernel | " + " | ".join(f"{n:,}" for n in lengths) + " |", "|---|---|---|" + "---|" * len(lengths)]
    for key in dict.fromkeys((r["fmt"], r["layout"], r["kernel"]) for r in rows):
        by = {r["length"]: r for r in rows if (r["fmt"], r["layout"], r["kernel"]) == key}
        cells = [f"{by[n]['us'] / 1e3:.3f} ({by[n]['tflops']:.0f}){' wrong' if by[n].get('wrong') else ''}" if n in by
                 else "–" for n in lengths]
        lines.append("| " + " | ".join([*key, *cells]) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 when a result is wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.prefill", description=__doc__)
    parser.add_argument("--lengths", default="4096,16384,51200,114688", help="keys, the chunk's own included")
    parser.add_argument("--chunk", type=int, default=2048)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the records and the table")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args(argv)
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    import torch

    if not torch.cuda.is_available():
        print("a benchmark needs a GPU, and torch finds none here", file=sys.stderr)
        return 2
    from splitverify.bench.bench_prefill_attention import WAYS, measure_prefill, prefill_case
    from splitverify.bench.timing import Timer

    timer = Timer()
    rows: list[Row] = []
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "prefill.jsonl").open("w") as out:
        for length in map(int, args.lengths.split(",")):
            for fmt, layout in dict.fromkeys(way[:2] for way in WAYS):
                ways = [scores for f, place, scores in WAYS if (f, place) == (fmt, layout)]
                try:
                    for row in measure_prefill(prefill_case(fmt, layout, length, args.chunk), ways, timer,
                                               not args.no_peers):
                        rows.append(row)
                        out.write(json.dumps(row) + "\n")
                        out.flush()
                except Wrong as error:
                    print(f"WRONG, no speeds: {error}", file=sys.stderr)
                    return 1
                torch.cuda.empty_cache()
    text = prefill_table(rows)
    (args.out / "prefill.md").write_text(text + "\n")
    print(text)
    for line in dict.fromkeys(f"absent: {row['kernel']} {row['fmt']}: {row['absent']}" for row in rows if "absent" in row):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
