# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.tables TUNED.jsonl --arch 90``: turn what the tuner wrote into the table that ships.

The tuner's rows are cases; a table's rows are ranges. A case at length L and q query tokens stands for every launch up to
those sizes that no smaller case covers. The last column of the tuner's 1-request grid becomes ``programs_per_sm``.
Configs with raw keys are left out: they were not the same twice on an H200 (docs/kernels/README.md).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from splitverify.ops.limits import MAX_QUERY_LEN

HERE = Path(__file__).parent / "data" / "selection"
KEY = ("head_size", "format", "layout", "max_rows", "max_length")


def rows_from(lines: list[dict[str, Any]], multiprocessors: int, raw_keys: bool = False) -> list[dict[str, Any]]:
    """Table rows, smallest cases first; of the configs with raw keys too, if asked for."""
    rows = []
    for line in lines:
        case = line["case"]
        tried = [entry for entry in line["best"] if raw_keys or not entry["config"].get("raw_keys", False)]
        if not tried:
            continue
        config = dict(tried[0]["config"])
        group = case["num_heads"] // case["num_kv_heads"]
        tiles = -(-case["q"][0] // ((config["rows"] + config["rows2"]) // group))
        programs = config.pop("segments") * case["num_kv_heads"] * tiles / multiprocessors
        # A window's launches ask with the most query tokens that the server allows, not with their own.
        visible = case["window"] + MAX_QUERY_LEN if case["window"] else case["lens"][0]
        rows.append(dict(head_size=case["head_size"], format=case["fmt"], layout=case["layout"],
                         max_rows=case["q"][0] * group, max_length=visible, measured=line["gpu"], us=tried[0]["us"],
                         config=dict(config, programs_per_sm=round(programs, 3))))
    # Several files may hold the same case: the fastest stays.
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda r: r["us"]):
        best.setdefault(tuple(row[k] for k in KEY), row)
    # A launch may take the config of one with more rows: it does that one's work at most. Where that was faster, it does.
    for row in best.values():
        for other in best.values():
            same = all(row[k] == other[k] for k in KEY if k != "max_rows")
            if same and other["max_rows"] > row["max_rows"] and other["us"] < row["us"]:
                row["us"], row["config"] = other["us"], other["config"]
    rows = [{k: v for k, v in row.items() if k != "us"} for row in best.values()]
    rows.sort(key=lambda r: tuple(r[k] for k in KEY))
    return rows


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``new`` and the rows of ``old`` for other sizes, in a table's order."""
    rows = {tuple(row[k] for k in KEY): row for row in [*old, *new]}
    return [rows[key] for key in sorted(rows)]


def main() -> None:
    """Write ``data/selection/sm_<arch>.json`` from the tuner's files alone, or with ``--keep`` into what it holds."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.tables", description=__doc__)
    parser.add_argument("tuned", type=Path, nargs="+")
    parser.add_argument("--arch", type=int, required=True, help="compute capability times ten")
    parser.add_argument("--multiprocessors", type=int, required=True)
    parser.add_argument("--keep", action="store_true", help="rows of the table that the files have no case for stay")
    parser.add_argument("--raw-keys", action="store_true", help="configs with raw keys may enter the table")
    args = parser.parse_args()
    lines = [json.loads(x) for path in args.tuned for x in path.read_text().splitlines()]
    new = rows_from(lines, args.multiprocessors, args.raw_keys)
    path = HERE / f"sm_{args.arch}.json"
    if args.keep:
        new = merged(json.loads(path.read_text())["rows"], new)
    write_table(path, new)
    print(f"{path}: {len(new)} rows")


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """One row a line, so that a diff shows what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = ",\n  ".join(json.dumps(r) for r in rows)
    path.write_text('{"rows": [\n  ' + body + "\n]}\n")


if __name__ == "__main__":
    main()
