# SPDX-License-Identifier: Apache-2.0
"""From what a run brought back to figures of the matrix: rules/evidence/figures-h200-run.yaml. Nothing in it is typed by hand.

    python -m e2e.figures FOLDER --date 2026-12-01 [--keep rules/evidence/figures-h200-run.yaml] [--note "second run"] > new.yaml

FOLDER is that of `e2e.report`. With --keep, figures of that file which this run did not measure again stay as they are; --note says of
the new ones what tells them from those. Profiles and knobs are those of the launch; every figure says that the model had no weights.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e import kinds, launches, report

HARDWARE = "H200 141 GB (8 layers)"
CHECKPOINT = "8 layers without weights"
CONTEXTS = (16_000, 100_000)
HEAD = """\
# yaml-language-server: $schema=../schema/figures.json
# Figures of a run of kernels/e2e, made by `python -m e2e.figures`. Do not edit. The model had eight layers, two of them attention, and no weights.
figures:
"""


def setup(launch: launches.Launch, **more: Any) -> dict[str, Any]:
    """The conditions of a launch's figures, from its profile and knobs."""
    spec, _, tier = launch.profile.partition("-")
    knobs = dict(word.split("=", 1) for word in launch.knobs)
    out: dict[str, Any] = {"ctx": tier, "spec": spec, "backend": knobs.pop("ATTENTION_BACKEND"),
                           "kv_cache_dtype": "int8_per_token_head" if "int8" in launch.name else "bfloat16"}
    drafts = re.match(r"(?:mtp|dflash)(\d+)", launch.name)
    if drafts:
        out["draft_tokens"] = int(drafts[1])
    knobs.pop("DRAFT_TOKENS", None)
    if launch.name.endswith("-verify"):
        knobs["VLLM_SPEC_DECODE_ATTN"] = 1
    return out | {"checkpoint": CHECKPOINT} | ({"knobs": knobs} if knobs else {}) | more


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """Every figure, without what they all share."""
    printed = {name: found for name, found in _printed(folder)}
    for record in report.records(folder):
        name = record["launch"]
        if name not in launches.ALL or name.startswith(("tight", "spoiled", "served")):
            continue
        launch = launches.ALL[name]
        if record["kind"] == "boot":
            yield {"id": f"h2-{name}-pool", "metric": "kv_pool_tokens", "value": printed[name], "unit": "tokens",
                   "setup": setup(launch), "note": f"{launch.pool_mib} MiB pinned, a block of {record['block']} tokens"}
        elif record["kind"] == "timing" and record["context"] in CONTEXTS:
            yield from _timed(launch, record)


def _timed(launch: launches.Launch, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    context = record["context"]
    short = f"h2-{launch.name}-{context // 1000}k"
    for streams in (1, 4):
        gpu = record[f"gpu_{streams}"]
        if gpu:
            attention = kinds.attention(gpu)
            part = "" if attention is None else f", {attention:.3f} of it attention"
            yield {"id": f"{short}-c{streams}-step", "metric": "step_ms", "value": round(gpu["gpu_ms"], 3), "unit": "ms",
                   "setup": setup(launch, context_tokens=context, streams=streams),
                   "note": f"GPU time of a step by the profiler{part}"}
    if "ttft_cold" in record:
        yield {"id": f"{short}-cold", "metric": "ttft_s", "value": record["ttft_cold"], "unit": "s",
               "setup": setup(launch, context_tokens=context, streams=1), "note": "prompt chunks of 8192 tokens"}
    yield {"id": f"{short}-warm", "metric": "ttft_s", "value": record["ttft_warm"], "unit": "s",
           "setup": setup(launch, context_tokens=context, streams=1), "note": f"{record['cached_warm']} tokens from the prefix cache"}


def _printed(folder: Path) -> Iterator[tuple[str, int]]:
    for path in folder.glob("*.log"):
        found = re.search(r"GPU KV cache size: ([\d,]+) tokens", path.read_text(encoding="utf-8", errors="replace"))
        if found:
            yield path.stem, int(found[1].replace(",", ""))


def kept(file: Path) -> dict[str, str]:
    """The lines of a file that this module wrote, by id."""
    found = (re.match(r"  - \{id: ([^,]+),", line) for line in file.read_text(encoding="utf-8").splitlines())
    return {one[1]: one.string for one in found if one}


def flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str) and (value in ("off", "on", "yes", "no") or not re.fullmatch(r"[A-Za-z][\w.+-]*(?: [\w.()+-]+)*", value)):
        return json.dumps(value)
    return str(value)


def main(words: list[str]) -> int:
    """Print the file."""
    parser = argparse.ArgumentParser(prog="e2e.figures")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--date", required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--note", help="words behind the note of every figure")
    given = parser.parse_args(words)
    folder, date = given.folder, given.date
    rest = {"hardware": HARDWARE, "platform": "native", "engine": "0.31.0", "date": date, "quality": "measured", "source": "h200-run"}
    lines = kept(given.keep) if given.keep else {}
    for record in records(folder):
        note = ", ".join(filter(None, (record.pop("note"), given.note)))
        shared = {key: value for key, value in rest.items() if key not in ("quality", "source")}
        lines[record["id"]] = "  - " + flow({**record, **shared, "note": note, "quality": rest["quality"], "source": rest["source"]})
    print(HEAD + "\n".join(lines[name] for name in sorted(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
