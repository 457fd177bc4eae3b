# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench``: tables, JSON lines and a plot. Prints no speed while a result is wrong."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from splitverify.bench import Wrong
from splitverify.bench.report import plot, store_table, table

STORE_TOKENS = (8, 64, 2048)
"""One verify step, a full captured batch, one chunk of a prefill."""
STORE_LAYOUTS = {"bf16": ("inline",), "fp8": ("inline",), "int8": ("inline", "planar")}


def empty_graph(timer: Any) -> float:
    """Microseconds of a graph that does next to nothing: what every figure contains."""
    import torch

    x = torch.zeros(1, device="cuda")
    return float(timer(lambda: x.add_(1)).median)


def formats(text: str) -> list[str]:
    """``bf16,int8`` as a list. Raises what argparse reports for a format that is none."""
    names = text.split(",")
    if not set(names) <= set(STORE_LAYOUTS):
        raise argparse.ArgumentTypeError(f"{text!r}: the formats are {', '.join(STORE_LAYOUTS)}")
    return names


def numbers(text: str) -> list[int]:
    """``1,4`` as a list of whole numbers above 0."""
    found = text.split(",")
    if not all(x.isdigit() and int(x) for x in found):
        raise argparse.ArgumentTypeError(f"{text!r} is not whole numbers with commas between")
    return list(map(int, found))


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 when a result is wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench", description=__doc__)
    parser.add_argument("--formats", type=formats, default="bf16,int8,fp8")
    parser.add_argument("--q", type=numbers, default="1,4,8,16")
    parser.add_argument("--lengths", type=numbers, default="4096,16384,131072")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the records, the tables and the plot")
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
    from splitverify.bench.bench_quantize_store import measure_store
    from splitverify.bench.bench_verify_attention import measure
    from splitverify.bench.timing import Timer
    from splitverify.tune import drafter_case, verify_case

    lengths = args.lengths
    jobs: list[tuple[Any, int | None, str]] = []
    for fmt in args.formats:
        for length in lengths:
            for q in args.q:
                jobs.append((verify_case(fmt, q, length), None, "this length"))
        if len(lengths) > 1:
            jobs.append((verify_case(fmt, 8, min(lengths)), max(lengths), f"{max(lengths)}, as a graph has it"))
        jobs.append((drafter_case(fmt, 8, 16384), None, "this length"))
    timer = Timer()
    rows: list[dict[str, Any]] = []
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "verify.jsonl").open("w") as out:
        print(f"an almost empty graph: {empty_graph(timer):.1f} us", flush=True)
        for case, graph_length, config_for in jobs:
            try:
                for row in measure(case, timer, graph_length, peers=not args.no_peers and graph_length is None):
                    rows.append(dict(row, config_for=config_for))
                    out.write(json.dumps(rows[-1]) + "\n")
            except Wrong as error:
                print(f"WRONG, no speeds: {error}", file=sys.stderr)
                return 1
    try:
        stores = [row for fmt in args.formats for layout in STORE_LAYOUTS[fmt] for tokens in STORE_TOKENS
                  for row in measure_store(replace(verify_case(fmt, 8, 4096), layout=layout), tokens, timer,
                                           not args.no_peers)]
    except Wrong as error:
        print(f"WRONG, no speeds: {error}", file=sys.stderr)
        return 1
    (args.out / "store.jsonl").write_text("".join(json.dumps(row) + "\n" for row in stores))
    for name, text in (("verify.md", table(rows)), ("store.md", store_table(stores))):
        (args.out / name).write_text(text + "\n")
        print(text, end="\n\n")
    for name in ("verify.svg", "verify.png"):
        why = plot(rows, args.out / name)
        if why:
            print(f"no plot: {why}")
            break
    for line in dict.fromkeys(f"absent: {row['kernel']} {row['fmt']}: {row['absent']}" for row in [*rows, *stores]
                              if "absent" in row):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
