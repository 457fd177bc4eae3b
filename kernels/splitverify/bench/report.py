# SPDX-License-Identifier: Apache-2.0
"""Tables and the plot of benchmark records: ``python -m splitverify.bench.report verify.jsonl`` makes them once more."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

Row = dict[str, Any]
FLOOR = "plain read"
COLOURS = {FLOOR: "black", "splitverify": "tab:blue", "FA3": "tab:orange", "vLLM 2-D": "tab:red",
           "vLLM 3-D forced": "tab:purple", "SDPA flash": "tab:green"}
"""One colour a kernel in every panel."""


def as_shipped(rows: list[Row], tuned: list[Row]) -> list[Row]:
    """``rows``, but where ours ran a config with raw keys, which does not ship, the tuner's time of its fastest other one, marked
    ``tuned``. A case that the tuner did not time loses the row."""
    times = {(t["case"]["fmt"], t["case"]["layout"], t["case"]["q"][0], t["case"]["lens"][0]): entry["us"]
             for t in tuned if not t["case"]["window"]
             for entry in reversed(t["best"]) if not entry["config"].get("raw_keys", False)}
    kept = []
    for r in rows:
        if r.get("config", {}).get("raw_keys", False):
            us = times.get((r["fmt"], r["layout"], r["q"], r["length"]))
            if us is None or r["config_for"] != "this length" or r["window"] or r["requests"] != 1:
                continue
            r = dict(r, us=us, of_floor=r["of_floor"] * r["us"] / us, tuned=True)
        kept.append(r)
    return kept


def table(rows: list[Row]) -> str:
    """Markdown: one line a case, one column a kernel, microseconds; our share of the floor last."""
    kernels = list(dict.fromkeys(r["kernel"] for r in rows if "us" in r))
    cases: dict[tuple[Any, ...], dict[str, Row]] = {}
    for r in rows:
        if "us" in r:
            key = (r["fmt"], r["layout"], r["length"], r["q"], r["window"] or "-", r["requests"], r["config_for"])
            cases.setdefault(key, {})[r["kernel"]] = r
    head = ["KV", "layout", "L", "q", "window", "requests", "config for", *kernels, "share of floor"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key, by in cases.items():
        cells = [f"{by[k]['us']:.1f}{' (wrong)' if by[k].get('wrong') else ' (tuner)' if by[k].get('tuned') else ''}"
                 if k in by else "–" for k in kernels]
        share = f"{by['splitverify']['of_floor']:.2f}" if "splitverify" in by else "–"
        lines.append("| " + " | ".join([*map(str, key), *cells, share]) + " |")
    return "\n".join(lines)


def store_table(rows: list[Row]) -> str:
    """Markdown: the stores, one line a case, microseconds."""
    kernels = list(dict.fromkeys(r["kernel"] for r in rows if "us" in r))
    cases: dict[tuple[Any, ...], dict[str, Row]] = {}
    for r in rows:
        if "us" in r:
            cases.setdefault((r["fmt"], r["layout"], r["tokens"]), {})[r["kernel"]] = r
    head = ["KV", "layout", "tokens", *kernels]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key, by in cases.items():
        cells = [f"{by[k]['us']:.1f}{' (wrong)' if by[k].get('wrong') else ''}" if k in by else "–" for k in kernels]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines)


def plot(rows: list[Row], path: Path) -> str | None:
    """Time over context, both logarithmic, the floor as a line. Returns why there is no plot, or None."""
    try:
        import matplotlib
    except ImportError:
        return "matplotlib is not installed"
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "splitverify", "font.size": 10})
    from matplotlib import pyplot
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    rows = [r for r in rows if "us" in r and r["q"] == 8 and not r["window"] and r["requests"] == 1
            and r["config_for"] == "this length"]
    formats = list(dict.fromkeys((r["fmt"], r["layout"]) for r in rows))
    if not rows:
        return "nothing with q = 8"
    figure, axes = pyplot.subplots(1, len(formats), figsize=(3.6 * len(formats) + 1, 4.6), sharey=True, squeeze=False)
    lengths = sorted({r["length"] for r in rows})
    handles: dict[str, Any] = {}
    for axis, (fmt, layout) in zip(axes[0], formats):
        mine = [r for r in rows if (r["fmt"], r["layout"]) == (fmt, layout)]
        for kernel in dict.fromkeys(r["kernel"] for r in mine):
            points = sorted((r["length"], r["us"]) for r in mine if r["kernel"] == kernel)
            style: dict[str, Any] = dict(linestyle="--") if kernel == FLOOR else dict(marker="o", markersize=4)
            if kernel == "splitverify":
                style["linewidth"] = 2.2
            line, = axis.loglog(*zip(*points), label=kernel, color=COLOURS.get(kernel), **style)
            handles.setdefault(kernel, line)
        axis.set(title=f"{fmt}, {layout} pages", xlabel="context, tokens")
        axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
        axis.xaxis.set_major_locator(FixedLocator(lengths))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{int(n):,}"))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda us, _: f"{us:,.0f}"))
    axes[0][0].set_ylabel("µs, one call of one layer")
    figure.suptitle(f"{rows[0]['gpu']}: 8 query tokens, one request, 24 query and 4 KV heads of 256")
    figure.legend(handles.values(), [f"{k} (floor)" if k == FLOOR else k for k in handles], loc="lower center",
                  ncols=len(handles), frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    return None


def main(argv: list[str] | None = None) -> int:
    """Write the table of ``verify.jsonl`` and draw it again; 1 when there is nothing to draw or to draw with."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.report", description=main.__doc__)
    parser.add_argument("records", type=Path, help="verify.jsonl of a run of the benchmark")
    parser.add_argument("--plot", type=Path, required=True, help="SVG or PNG to write")
    parser.add_argument("--table", type=Path, help="Markdown to write")
    parser.add_argument("--tuned", type=Path, help="the tuner's lines: times of what ships, where the run measured raw keys")
    args = parser.parse_args(argv)
    try:
        rows, tuned = ([json.loads(line) for line in path.read_text().splitlines()] if path else []
                       for path in (args.records, args.tuned))
    except (OSError, ValueError) as error:
        print(f"{args.records}: {error}", file=sys.stderr)
        return 1
    rows = as_shipped(rows, tuned)
    if args.table:
        args.table.write_text(table(rows) + "\n")
    why = plot(rows, args.plot)
    if why:
        print(f"no plot: {why}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
