# SPDX-License-Identifier: Apache-2.0
"""What kernels of a step are for, by their names, and the attention's part of a step in a record."""

from __future__ import annotations

import re
from typing import Any

PROFILED_STEPS = 12
"""Steps of a record's profile, in all of which every stream decodes."""
OURS = {
    "split_attention": "attention", "turned_attention": "attention", "prefill": "attention", "combine": "attention",
    "_quantize_store": "store",
    "largest_of_parts": "other", "decide": "other", "mask_below": "other",
}
"""Every kernel that splitverify launches. A test holds this list to its source."""
KINDS = (
    ("attention", r"unified_attention|reduce_segments|flash|Flash|prepare_varlen|prefill"),
    ("store", r"reshape_and_cache|concat_and_cache"),
    ("state", r"delta_rule|fused_recurrent|causal_conv1d|gdn|chunk_|merge_16x16|l2norm|cumsum"),
    ("gemm", r"nvjet|gemm|gemv|cutlass|splitK|cublas"),
)
"""Other kernels by their names, first match counts."""
ONCE_OTHER = frozenset({"turned_attention"})
"""Kernels that were counted as `other` in records whose `top` rows do not say a kind."""


def kind_of(kernel: str) -> str:
    """The kind of a kernel by its name."""
    return OURS.get(kernel) or next((kind for kind, pattern in KINDS if re.search(pattern, kernel)), "other")


def attention(gpu: dict[str, Any]) -> float | None:
    """Milliseconds of attention in a step, of what `timing.profiled` found.

    Rows of `top` are (name, launches, mean microseconds, kind). Older ones have no kind, and what they call attention is
    without ONCE_OTHER: it is put back from its row. None when no row of `top` is attention's, since that one may be missing then.
    """
    said: float = gpu.get("attention", 0.0)
    rows = gpu.get("top", [])
    if not rows or len(rows[0]) > 3:
        return said
    if not any(kind_of(name) == "attention" for name, _, _ in rows):
        return None
    return said + sum(launches * micros for name, launches, micros in rows if name in ONCE_OTHER) / PROFILED_STEPS / 1e3
