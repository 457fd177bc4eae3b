# SPDX-License-Identifier: Apache-2.0
"""From what a run brought back to one page of tables. Nothing in it is typed by hand.

    python -m e2e.report FOLDER [> page.md]

FOLDER holds results.jsonl, launches.json, the unpacked answers and logs (`python -m e2e.archive unpack answers.tar.xz FOLDER`),
and soak-progress.jsonl where a server was loaded by `e2e.soak_run`. What several commands of one run brought back goes into
one folder: `cat */results.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from e2e import compare, kinds

PAIRS = (
    ("mtp3-custom-int8", "mtp3-triton-int8"),
    ("mtp3-triton-int8-verify", "mtp3-triton-int8"),
    ("mtp3-flash-bf16-verify", "mtp3-flash-bf16"),
    ("mtp3-custom-bf16", "mtp3-flash-bf16"),
    ("off-custom-int8", "off-triton-int8"),
    ("dflash7-custom-int8", "dflash7-triton-int8"),
    ("dflash7-triton-int8-verify", "dflash7-triton-int8"),
    ("dflash7-custom-int8", "dflash7-triton-int8-verify"),
    ("mtp7-custom-int8", "mtp3-custom-int8"),
    ("tight-custom-int8", "mtp3-custom-int8"),
    ("spoiled-custom-int8", "mtp3-triton-int8"),
    ("mtp3-triton-int8", "off-triton-int8"),
    ("mtp3-triton-int8", "mtp3-flash-bf16"),
)
"""Compared answers: ours against vLLM's own on the same cache. `spoiled` has a softmax scale that is wrong by 2 %, to see that
the comparison notices; the last two are vLLM's kernels against each other, for scale."""
BATCHES = ("mixed", "residues", "residues-again", "unlike-lengths", "crowded")


def records(folder: Path) -> list[dict[str, Any]]:
    """All records of results.jsonl."""
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def table(head: tuple[str, ...], rows: list[list[Any]]) -> list[str]:
    """A Markdown table. None is an empty cell."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |" for row in rows]


def boots(found: list[dict[str, Any]], launches: dict[str, Any], logs: Path) -> list[str]:
    """Boot seconds, and the pool that was printed beside the one that `fit` predicted."""
    rows = []
    for record in found:
        if record["kind"] == "boot":
            launch = launches[record["launch"]]
            text = (logs / f"{record['launch']}.log").read_text(encoding="utf-8", errors="replace")
            printed = text.partition("GPU KV cache size: ")[2].partition(" tokens")[0]
            predicted = f"{launch['fit']['printed_tokens']:,}"
            rows.append([record["launch"], launch["arm"], record["seconds"], record["block"], printed, predicted,
                         "yes" if (printed, record["block"]) == (predicted, launch["fit"]["block"]) else "NO"])
    return table(("launch", "arm", "boot s", "block", "printed tokens", "predicted", "same"), sorted(rows))


def steps(found: list[dict[str, Any]], streams: int) -> list[str]:
    """A step by context: GPU ms, of it attention, and wall ms."""
    contexts = sorted({record["context"] for record in found if record["kind"] == "timing"})
    rows = []
    for name in dict.fromkeys(record["launch"] for record in found if record["kind"] == "timing"):
        of = {record["context"]: record for record in found if record["kind"] == "timing" and record["launch"] == name}
        cells = []
        for context in contexts:
            gpu, wall = of.get(context, {}).get(f"gpu_{streams}"), of.get(context, {}).get(f"streams_{streams}")
            cells.append(f"{gpu['gpu_ms']:.2f} / {share(gpu)} / {wall['ms_median']:.1f}" if gpu and wall else None)
        rows.append([name, *cells])
    return table(("GPU ms / of it attention / wall ms", *(f"{context:,}" for context in contexts)), rows)


def share(gpu: dict[str, Any]) -> str:
    """Milliseconds of attention in a step, a dash where a record does not say all of them."""
    attention = kinds.attention(gpu)
    return "–" if attention is None else f"{attention:.2f}"


def first_tokens(found: list[dict[str, Any]]) -> list[str]:
    """Seconds to the first token by context: cold / from the prefix cache."""
    contexts = sorted({record["context"] for record in found if record["kind"] == "timing"})
    rows = []
    for name in dict.fromkeys(record["launch"] for record in found if record["kind"] == "timing"):
        of = {record["context"]: record for record in found if record["kind"] == "timing" and record["launch"] == name}
        cells: list[str | None] = []
        for context in contexts:
            record = of.get(context)
            cold = f"{record['ttft_cold']:.3f}" if record and "ttft_cold" in record else "–"
            cells.append(f"{cold} / {record['ttft_warm']:.3f} ({record['cached_warm']:,})" if record else None)
        rows.append([name, *cells])
    return table(("s cold / warm (tokens cached)", *(f"{context:,}" for context in contexts)), rows)


def moves(result: compare.Compared) -> str:
    """How far leads moved where both chose alike."""
    return f"{result.mean():.4f} / {result.at(0.99):.4f} / {result.limit():.4f}"


def answers(folder: Path) -> list[str]:
    """Every pair, every batch."""
    rows = []
    for ours, theirs in PAIRS:
        for batch in BATCHES:
            try:
                result = compare.compare(compare.read(folder, ours, batch), compare.read(folder, theirs, batch))
            except FileNotFoundError:
                continue
            rows.append([ours, theirs, batch, f"{result.same} of {result.answers}", f"{result.steps:,}",
                         moves(result),
                         max((move for _, _, move, _, _ in result.differences), default=None), len(result.unexplained())])
    for path in sorted(folder.glob("answers-*-residues.json")):
        name = path.name.removeprefix("answers-").removesuffix("-residues.json")
        result = compare.compare(compare.read(folder, name, "residues"), compare.read(folder, name, "residues-again"))
        rows.append([name, "itself, from the prefix cache", "residues", f"{result.same} of {result.answers}", f"{result.steps:,}",
                     moves(result),
                     max((move for _, _, move, _, _ in result.differences), default=None), len(result.unexplained())])
    rows += forced(folder)
    rows = [[f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row] for row in rows]
    return table(("launch", "against", "batch", "same answers", "equal steps", "moves where equal: mean / 99 % / largest",
                  "largest move at a first difference", "not explained"), rows)


def forced(folder: Path) -> list[list[Any]]:
    """Answers of the crowd against what their text alone leads to: all steps that were asked again, and those behind a pause."""
    rows: list[list[Any]] = []
    for path in sorted(folder.glob("forced-*-crowded.json")):
        name = path.name.removeprefix("forced-").removesuffix("-crowded.json")
        given, asked = compare.read(folder, name, "crowded"), json.loads(path.read_text(encoding="utf-8"))
        whole = compare.compare_forced(given, asked)
        behind = {(item["place"], item["step"]) for item in asked if item["step"] >= min(given[item["place"]].get("pauses", ()), default=1 << 30)}
        part = compare.compare_forced(given, [item for item in asked if (item["place"], item["step"]) in behind])
        unexplained = [found for found in whole.unexplained() if found[:2] in behind]
        for what, result, wrong in (("its text alone", whole, whole.unexplained()), ("idem, after it was taken in again", part, unexplained)):
            if result.answers:
                rows.append([name, what, "crowded", f"{result.same} of {result.answers}", f"{result.steps:,}", moves(result),
                             max((move for _, _, move, _, _ in result.differences), default=None), len(wrong)])
    return rows


def load(folder: Path) -> list[str]:
    """How a server under load went, at up to a dozen moments."""
    path = folder / "soak-progress.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    count = min(12, len(lines))
    kept = [lines[index * (len(lines) - 1) // max(1, count - 1)] for index in range(count)]
    keys = ("load s", "alive", "answered", "failed", "slowest first token s", "processes", "rss_mib", "anon_mib", "gpu_mib", "gpu_all_mib")
    counted = ("running", "waiting", "pool used", "preemptions")
    return table((*keys, *counted), [[*map(line.get, keys), *map(line["server"].get, counted)] for line in kept]) if kept else []


def rest(found: list[dict[str, Any]]) -> list[str]:
    """Preemptions, prefix hits, calls left to vLLM, and the load."""
    lines = []
    answered = [record for record in found if record["kind"] == "answers"]
    for name in sorted({record["launch"] for record in answered}):
        batches = [f"{r['batch']} {r['answered']} of {r['asked']} ({r['with_prefix']})" for r in answered if r["launch"] == name]
        preempted = sum(r["counted"].get("vllm:num_preemptions", 0) for r in answered if r["launch"] == name)
        pauses = sum(r.get("pauses", 0) for r in answered if r["launch"] == name)
        lines.append(f"- {name}: answered (of them begun in the prefix cache) {', '.join(batches)}; {preempted:.0f} preemptions"
                     + (f", {pauses} answers' pauses" if pauses else ""))
        lines += [f"- {name}: the prefix cache was not emptied before steps were asked again" for r in answered
                  if r["launch"] == name and r.get("cache_emptied") is False]
    for record in found:
        if record["kind"] == "end" and record["left_to_vllm"]:
            reasons = "; ".join(f"{reason}, {count} calls" for reason, count in record["left_to_vllm"].items())
            lines.append(f"- {record['launch']} left to vLLM's kernels: {reasons}")
        elif record["kind"] == "soak":
            shown = {key: value for key, value in record.items() if key not in ("launch", "kind", "problems")}
            lines.append(f"- {record['launch']}, loaded over HTTP: {', '.join(f'{key} {value}' for key, value in shown.items())}")
        elif record["kind"] == "skipped":
            lines.append(f"- {record['launch']} skipped: {record}")
    return lines


def main(words: list[str]) -> int:
    """Print the page."""
    folder = Path(words[0])
    found, launches = records(folder), json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    parts = (
        ("Boots and pools", boots(found, launches, folder)),
        ("A step, one stream", steps(found, 1)),
        ("A step, four streams (they share one prompt)", steps(found, 4)),
        ("First token", first_tokens(found)),
        ("Answers", answers(folder)),
        ("The load", load(folder)),
        ("Also", rest(found)),
    )
    print("\n".join(line for title, lines in parts if lines for line in (f"## {title}", "", *lines, "")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
