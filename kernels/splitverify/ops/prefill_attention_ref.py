# SPDX-License-Identifier: Apache-2.0
"""K4 and K5 in plain torch, a block of query tokens at a time: gather, dequantize, masked softmax in float64."""

from __future__ import annotations

import torch

from splitverify.layout import INT8, CacheView
from splitverify.ops.prefill_config import scores_refused
from splitverify.ops.verify_attention_ref import dequantized


def rounded_rows(x: torch.Tensor) -> torch.Tensor:
    """``x`` in 127 steps of each row's largest magnitude, halves to even; float32, same shape."""
    step = x.abs().amax(-1, keepdim=True).clamp_min(1e-20) / 127
    return torch.round(x / step) * step


def smoothed_rows(k: torch.Tensor) -> torch.Tensor:
    """Keys ``[L, Hkv, D]`` as int8 scores see them: less the mean of 64 of them, in 127 steps of each row's maximum."""
    sample = torch.arange(64, device=k.device) * k.shape[0] // 64
    return rounded_rows(k - k[sample].sum(0) / 64)


def prefill_attention_ref(q: torch.Tensor, cache: CacheView, block_table: torch.Tensor, seq_lens: torch.Tensor,
                          query_start_loc: torch.Tensor, *, scale: float, scores: str = "plain", longer_than: int = 0,
                          within: int = 2**31 - 1, k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None,
                          every: int = 1) -> torch.Tensor:
    """Same arguments and meaning as ``prefill_attention``; returns float32 ``[T, Hq, D]``.

    Zero for tokens that are not served. ``scores="int8"`` rounds q, and K of a cache that is not int8, as the kernel
    does; the other two are exact. ``every`` computes only each so-manyth token, from the last one back: the rest is NaN.
    """
    why = scores_refused(scores, cache.fmt)
    if why:
        raise ValueError(why)
    out = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    starts = query_start_loc.tolist()
    group = q.shape[1] // cache.num_kv_heads
    for r, seq_len in enumerate(seq_lens.tolist()):
        a, b = starts[r], starts[r + 1]
        if b == a or (b - a <= longer_than and b <= within):
            continue
        k, v = dequantized(cache, block_table[r, :-(-seq_len // cache.block_size)].long(), k_scale, v_scale)
        k, v = k[:seq_len], v[:seq_len].double()
        if scores == "int8" and cache.fmt != INT8:
            k = smoothed_rows(k)
        k = k.double()
        mine = torch.arange(b - 1, a - 1, -every, device=q.device)
        if every > 1:
            out[a:b] = float("nan")
        for rows in mine.split(max(1, (1 << 25) // max(seq_len * q.shape[1], 1))):
            grouped = q[rows].float()
            if scores == "int8":
                grouped = rounded_rows(grouped)
            grouped = grouped.double().unflatten(1, (cache.num_kv_heads, group))
            see = torch.arange(seq_len, device=q.device)[None] <= (rows - b + seq_len)[:, None]
            s = torch.einsum("qhgd,khd->hgqk", grouped, k) * scale
            p = torch.softmax(s.masked_fill(~see, float("-inf")), -1)
            out[rows] = torch.einsum("hgqk,khd->qhgd", p, v).flatten(1, 2).float()
    return out
