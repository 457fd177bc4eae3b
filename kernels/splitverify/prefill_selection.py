# SPDX-License-Identifier: Apache-2.0
"""Which config a prefill gets: looked up in tables that ship as data, like those of :mod:`splitverify.selection`.

``data/prefill/sm_<arch>.json`` holds one row for each head size, format, layout and way to multiply. ``measured`` names
the GPU that the row was tuned on, or is null where it is only known to compile without spills and to fit.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from splitverify.ops.prefill_config import PrefillConfig
from splitverify.selection import NoTable, table_name


@dataclass(frozen=True)
class PrefillChoice:
    """A config and where it comes from: table, row, and on which GPU it was measured (None: it was not)."""

    config: PrefillConfig
    table: str
    row: int
    measured: str | None

    def why(self) -> str:
        """One line for people."""
        seen = f"measured on {self.measured}" if self.measured else "not measured; compiles without spills and fits"
        return f"prefill {self.table} row {self.row}, {seen}"


@functools.cache
def load_prefill_table(name: str) -> list[dict[str, Any]]:
    """The rows of a shipped table."""
    text = resources.files("splitverify").joinpath(f"data/prefill/{name}.json").read_text()
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def select_prefill(capability: tuple[int, int], *, head_size: int, fmt: str, layout: str, scores: str) -> PrefillChoice:
    """The config for a layer: ``fmt`` is ``bf16``, ``fp8`` or ``int8``, ``scores`` a key of ``SCORES``.

    An architecture without such a row takes the one of 8.6, which fits anywhere. Raises :class:`NoTable`.
    """
    wanted = dict(head_size=head_size, format=fmt, layout=layout, scores=scores)
    own = table_name(capability)
    for name in dict.fromkeys((own, "sm_86")):
        for i, row in enumerate(load_prefill_table(name)):
            if all(row[k] == v for k, v in wanted.items()):
                return PrefillChoice(PrefillConfig(**row["config"]), name, i, row["measured"])
    raise NoTable(f"{own} has no prefill row for head size {head_size}, {fmt}, {layout}, {scores} scores")
