# SPDX-License-Identifier: Apache-2.0
"""K1 in plain torch: gather the pages, dequantize, masked softmax in float64. Slow, and meant to be read."""

from __future__ import annotations

import torch

from splitverify.layout import FP8, INT8, CacheView


def dequantized(cache: CacheView, blocks: torch.Tensor, k_scale: torch.Tensor | None = None,
                v_scale: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V of those blocks as float32 ``[len(blocks) * block_size, num_kv_heads, head_size]``."""
    k, v = cache.keys()[blocks], cache.values()[blocks]
    if cache.fmt == INT8:
        k = k.float() * cache.key_scales()[blocks][..., None]
        v = v.float() * cache.value_scales()[blocks][..., None]
    elif cache.fmt == FP8:
        assert k_scale is not None and v_scale is not None
        k = k.view(torch.float8_e4m3fn).float() * k_scale
        v = v.view(torch.float8_e4m3fn).float() * v_scale
    shape = (-1, cache.num_kv_heads, cache.head_size)
    return k.float().reshape(shape), v.float().reshape(shape)


def visible(seq_len: int, q_len: int, causal: bool, window: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """bool ``[q_len, seq_len]``: which keys each of the last ``q_len`` tokens sees."""
    pos = torch.arange(seq_len - q_len, seq_len, device=device)[:, None]
    key = torch.arange(seq_len, device=device)[None]
    see = key <= pos if causal else torch.ones(q_len, seq_len, dtype=torch.bool, device=device)
    if window:
        see = see & (key > pos - window)
        if not causal:
            see = see & (key < pos + window)
    return see


def verify_attention_ref(q: torch.Tensor, cache: CacheView, block_table: torch.Tensor, seq_lens: torch.Tensor,
                         query_start_loc: torch.Tensor, *, scale: float, causal: bool = True, window: int = 0,
                         k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None) -> torch.Tensor:
    """Same arguments and meaning as ``verify_attention``; returns float32 ``[T, Hq, D]``, zero for padding tokens.

    Reads only the pages a request owns, and of those only the keys it sees: other slots may hold anything.
    """
    out = torch.zeros(q.shape, dtype=torch.float32, device=q.device)
    starts = query_start_loc.tolist()
    group = q.shape[1] // cache.num_kv_heads
    for r, seq_len in enumerate(seq_lens.tolist()):
        a, b = starts[r], starts[r + 1]
        if a == b:
            continue
        see = visible(seq_len, b - a, causal, window, q.device)
        low = int(see.any(0).nonzero()[0])                         # pages before it may be freed: not read
        first = low // cache.block_size
        ids = block_table[r, first:-(-seq_len // cache.block_size)].long()
        k, v = dequantized(cache, ids, k_scale, v_scale)
        offset = first * cache.block_size
        k = k[low - offset:seq_len - offset].double()
        v = v[low - offset:seq_len - offset].double()
        grouped = q[a:b].double().unflatten(1, (cache.num_kv_heads, group))
        s = torch.einsum("qhgd,khd->hgqk", grouped, k) * scale
        p = torch.softmax(s.masked_fill(~see[:, low:], float("-inf")), -1)
        out[a:b] = torch.einsum("hgqk,khd->qhgd", p, v).flatten(1, 2).float()
    return out

