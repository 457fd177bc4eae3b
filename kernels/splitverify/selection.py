# SPDX-License-Identifier: Apache-2.0
"""Which config a launch gets: looked up in tables that ship as data, never searched for while serving.

``data/selection/sm_<arch>.json`` holds rows made by ``python -m splitverify.tune`` (``measured`` says on what), or, where
nobody has measured, rows that are only known to compile without spills and to fit (``measured`` is null). A row applies
to one head size, format and layout, up to a number of rows (query tokens x group) and a length; the first that fits wins.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from splitverify.ops.config import MAX_SEGMENTS, KernelConfig

ARCHITECTURES = (86, 89, 90, 120)
"""Tables that ship. A GPU takes its own, or else the closest one below it with no more shared memory."""


@dataclass(frozen=True)
class Choice:
    """A config and where it comes from: table, row, and on which GPU it was measured (None: it was not)."""

    config: KernelConfig
    table: str
    row: int
    measured: str | None

    def why(self) -> str:
        """One line for people."""
        seen = f"measured on {self.measured}" if self.measured else "not measured; compiles without spills and fits"
        return f"{self.table} row {self.row}, {seen}"


class NoTable(LookupError):
    """No shipped row fits; the message says for what."""


def table_name(capability: tuple[int, int]) -> str:
    """The table for a GPU of that compute capability, e.g. ``sm_86``. Raises :class:`NoTable` below 8.0."""
    arch = capability[0] * 10 + capability[1]
    if arch in ARCHITECTURES:
        return f"sm_{arch}"
    # 8.0, 8.7, 10.0, 11.0, 12.1: these have at least the shared memory that the tables named here assume.
    if arch >= 80:
        return "sm_120" if arch > 120 else "sm_90" if arch in (100, 103, 110) else "sm_86"
    raise NoTable(f"compute capability {capability[0]}.{capability[1]} is below 8.0")


@functools.cache
def load_table(name: str) -> list[dict[str, Any]]:
    """The rows of a shipped table."""
    text = resources.files("splitverify").joinpath(f"data/selection/{name}.json").read_text()
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def select(capability: tuple[int, int], multiprocessors: int, *, head_size: int, fmt: str, layout: str, num_heads: int,
           num_kv_heads: int, max_query_len: int, max_length: int, requests: int = 1) -> Choice:
    """The config for a launch.

    ``fmt`` is ``bf16``, ``fp8`` or ``int8``; ``max_length`` the most keys a request can show (a captured graph takes the
    model's maximum, a windowed layer its window); ``requests`` the size of the (captured) batch. Segments are scaled so
    that the grid fills ``multiprocessors`` as often as it did when the row was made. Raises :class:`NoTable`.
    """
    name = table_name(capability)
    group = num_heads // num_kv_heads
    rows = max_query_len * group
    table = load_table(name)
    fitting = [(i, r) for i, r in enumerate(table)
               if r["head_size"] == head_size and r["format"] == fmt and r["layout"] == layout]
    if not fitting and name != "sm_86":                            # nobody measured this kind here: what fits anywhere
        return select((8, 6), multiprocessors, head_size=head_size, fmt=fmt, layout=layout, num_heads=num_heads,
                      num_kv_heads=num_kv_heads, max_query_len=max_query_len, max_length=max_length, requests=requests)
    if not fitting:
        raise NoTable(f"{name} has no row for head size {head_size}, {fmt}, {layout}")
    # Beyond the largest row count the launch is cut into query tiles, beyond the longest length nothing changes.
    most_rows = max(r["max_rows"] for _, r in fitting)
    longest = max(r["max_length"] for _, r in fitting)
    for i, r in fitting:
        if min(rows, most_rows) <= r["max_rows"] and min(max_length, longest) <= r["max_length"]:
            fields = dict(r["config"])
            programs = fields.pop("programs_per_sm")
            tiles = -(-max_query_len // ((fields["rows"] + fields["rows2"]) // group))
            share = programs * multiprocessors / (num_kv_heads * max(requests, 1) * tiles)
            fields["segments"] = max(1, min(MAX_SEGMENTS, int(share + 1e-6)))
            return Choice(KernelConfig(**fields), name, i, r["measured"])
    raise NoTable(f"{name} has no row for {rows} rows of head size {head_size}, {fmt}, {layout}")
