# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench``: the table, JSON lines and a plot. Prints no speed while a result is wrong."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: one line a case, one column a kernel, microseconds; our share of the floor last."""
    kernels = list(dict.fromkeys(r["kernel"] for r in rows if "us" in r))
    cases: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for r in rows:
        if "us" in r:
            key = (r["fmt"], r["layout"], r["length"], r["q"], r["window"] or "-", r["requests"], r["config_for"])
            cases.setdefault(key, {})[r["kernel"]] = r
    head = ["KV", "layout", "L", "q", "window", "requests", "config for", *kernels, "share of floor"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key, by in cases.items():
        cells = [f"{by[k]['us']:.1f}{' (wrong)' if by[k].get('wrong') else ''}" if k in by else "–" for k in kernels]
        share = f"{by['splitverify']['of_floor']:.2f}"
        lines.append("| " + " | ".join([*map(str, key), *cells, share]) + " |")
    return "\n".join(lines)


def plot(rows: list[dict[str, Any]], path: Path) -> str | None:
    """Time over context, both logarithmic, the floor as a line. Returns why there is no plot, or None."""
    try:
        import matplotlib
    except ImportError:
        return "matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [r for r in rows if "us" in r and r["q"] == 8 and not r["window"] and r["requests"] == 1
            and r["config_for"] == "this length"]
    formats = list(dict.fromkeys((r["fmt"], r["layout"]) for r in rows))
    if not rows:
        return "nothing with q = 8"
    figure, axes = pyplot.subplots(1, len(formats), figsize=(5 * len(formats), 4), sharey=True, squeeze=False)
    for axis, (fmt, layout) in zip(axes[0], formats):
        mine = [r for r in rows if (r["fmt"], r["layout"]) == (fmt, layout)]
        for kernel in dict.fromkeys(r["kernel"] for r in mine):
            points = sorted((r["length"], r["us"]) for r in mine if r["kernel"] == kernel)
            style = dict(color="black", linestyle="--") if kernel == "plain read" else dict(marker="o")
            axis.loglog(*zip(*points), label=kernel, **style)
        axis.set(title=f"{fmt} {layout}, q = 8", xlabel="context (tokens)")
        axis.legend(fontsize=7)
    axes[0][0].set_ylabel("µs a layer call")
    figure.tight_layout()
    figure.savefig(path)
    return None


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; 1 when a result is wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench", description=__doc__)
    parser.add_argument("--formats", default="bf16,int8,fp8")
    parser.add_argument("--q", default="1,4,8,16")
    parser.add_argument("--lengths", default="4096,16384,131072")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for verify.jsonl, verify.md and the plot")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args(argv)
    import torch

    if not torch.cuda.is_available():
        print("a benchmark needs a GPU", file=sys.stderr)
        return 2
    from splitverify.bench.bench_verify_attention import Wrong, measure
    from splitverify.bench.timing import Timer
    from splitverify.tune import drafter_case, verify_case

    lengths = [int(n) for n in args.lengths.split(",")]
    jobs: list[tuple[Any, int | None, str]] = []
    for fmt in args.formats.split(","):
        for length in lengths:
            for q in map(int, args.q.split(",")):
                jobs.append((verify_case(fmt, q, length), None, "this length"))
        if len(lengths) > 1:
            jobs.append((verify_case(fmt, 8, min(lengths)), max(lengths), f"{max(lengths)}, as a graph has it"))
        jobs.append((drafter_case(fmt, 8, 16384), None, "this length"))
    timer = Timer()
    empty = torch.zeros(1, device="cuda")
    rows: list[dict[str, Any]] = []
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "verify.jsonl").open("w") as out:
        print(f"an almost empty graph: {timer(lambda: empty.add_(1)).median:.1f} us", flush=True)
        for case, graph_length, config_for in jobs:
            try:
                for row in measure(case, timer, graph_length, peers=not args.no_peers and graph_length is None):
                    rows.append(dict(row, config_for=config_for))
                    out.write(json.dumps(rows[-1]) + "\n")
            except Wrong as error:
                print(f"WRONG, no speeds: {error}", file=sys.stderr)
                return 1
    text = table(rows)
    (args.out / "verify.md").write_text(text + "\n")
    print(text)
    for name in ("verify.svg", "verify.png"):
        why = plot(rows, args.out / name)
        if why:
            print(f"no plot: {why}")
            break
    for row in rows:
        if "absent" in row:
            print(f"absent: {row['kernel']} {row['fmt']}: {row['absent']}")
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
