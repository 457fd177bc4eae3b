# SPDX-License-Identifier: Apache-2.0
"""K6: top-k and top-p of a few rows of logits, in place, for a top-k of at most 32.

Two stages instead of a search: every part of a row hands on its 32 largest logits, one program a row takes the 32
largest of those and decides both limits among them, a third launch masks. What is not decided there is said to be left, so
that another kernel may do it without anyone asking the host.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

MOST = 32
"""The largest top-k that is decided here."""
PART = 4096
"""Logits a program of the first stage sorts."""


@triton.jit
def _ordered(x):
    """fp32 as int32 that sorts like it."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def largest_of_parts(logits_ptr, keys_ptr, stride, vocab, PART: tl.constexpr, MOST: tl.constexpr):
    """Program (row, part): the MOST largest logits of a part, as ordered integers."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    i = part * PART + tl.arange(0, PART)
    x = tl.load(logits_ptr + row * stride + i, mask=i < vocab, other=float("-inf"))
    tl.store(keys_ptr + (row * tl.num_programs(1) + part) * MOST + tl.arange(0, MOST), tl.topk(_ordered(x), MOST))


@triton.jit
def decide(keys_ptr, k_ptr, p_ptr, threshold_ptr, k_left_ptr, p_left_ptr, count, vocab, COUNT: tl.constexpr,
           MOST: tl.constexpr, HAS_P: tl.constexpr):
    """Program (row): the smallest logit that stays, or -inf with k and p handed on where that is not decided here."""
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, COUNT)
    key = tl.topk(tl.load(keys_ptr + row * count + j, mask=j < count, other=-2147483647), MOST)
    n = tl.arange(0, MOST)
    x = (key ^ ((key >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)                # largest first
    k = tl.load(k_ptr + row)
    kth = tl.max(tl.where(n == tl.minimum(k, MOST) - 1, x, float("-inf")), 0)
    inside = x >= kth                                              # ties of the kth stay
    threshold = kth
    p = 1.0
    if HAS_P:
        p = tl.load(p_ptr + row)
        weight = tl.where(inside, tl.exp(x - tl.max(x, 0)), 0.0)
        weight = weight / tl.sum(weight, 0)
        before = tl.cumsum(weight, 0) - weight
        threshold = tl.min(tl.where(inside & ((before < p) | (n == 0)), x, float("inf")), 0)
    # Ties that may go on beyond what was looked at, fewer finite logits than k, infinity or NaN: somebody else's.
    tied = (tl.sum((x == kth).to(tl.int32), 0) > 1) & (tl.min(x, 0) == kth)
    odd = tl.sum((x != x).to(tl.int32), 0) > 0
    ours = (k >= 1) & (k <= MOST) & (kth > float("-inf")) & (tl.max(x, 0) < float("inf")) & (tied == 0) & (odd == 0)
    tl.store(threshold_ptr + row, tl.where(ours, threshold, float("-inf")))
    tl.store(k_left_ptr + row, tl.where(ours, vocab, k))
    if HAS_P:
        tl.store(p_left_ptr + row, tl.where(ours, 1.0, p))


@triton.jit
def mask_below(logits_ptr, threshold_ptr, stride, vocab, PART: tl.constexpr):
    """Program (row, part): -inf in place of what is below the row's threshold."""
    row = tl.program_id(0).to(tl.int64)
    threshold = tl.load(threshold_ptr + row)
    if threshold == float("-inf"):
        return
    i = tl.program_id(1) * PART + tl.arange(0, PART)
    at = logits_ptr + row * stride + i
    x = tl.load(at, mask=i < vocab, other=float("inf"))
    tl.store(at, float("-inf"), mask=(i < vocab) & (x < threshold))


def top_k_top_p(logits: torch.Tensor, k: torch.Tensor, p: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Put -inf, in place, where a logit is not among the row's top k, or not among its nucleus of probability p.

    ``logits``  fp32 ``[R, V]``, last stride 1
    ``k``       int32 ``[R]``; ``V`` (or more) is no limit
    ``p``       fp32 ``[R]``, or None for no limit; the nucleus is of what top-k leaves, and has at least one logit

    Serves rows with a k of 1 to ``MOST``. Returns k and p that say what is left to do: the row's own where it was not
    served (also where ties of the kth logit go on beyond ``MOST``, or a logit is NaN or infinite), ``V`` and 1 where it was.
    Three launches, no host reads. Raises ``ValueError`` for other shapes and types.
    """
    if logits.dim() != 2 or logits.dtype != torch.float32 or logits.stride(1) != 1:
        raise ValueError("logits must be fp32 [rows, vocabulary] with a last stride of 1")
    rows, vocab = logits.shape
    if k.shape != (rows,) or k.dtype != torch.int32 or (p is not None and (p.shape != (rows,) or p.dtype != torch.float32)):
        raise ValueError("k must be int32 [rows], p fp32 [rows]")
    k_left, p_left = torch.empty_like(k), None if p is None else torch.empty_like(p)
    if rows == 0:
        return k_left, p_left
    parts = triton.cdiv(vocab, PART)
    keys = torch.empty(rows, parts * MOST, dtype=torch.int32, device=logits.device)
    threshold = torch.empty(rows, dtype=torch.float32, device=logits.device)
    largest_of_parts[(rows, parts)](logits, keys, logits.stride(0), vocab, PART=PART, MOST=MOST, num_warps=8)
    decide[(rows,)](keys, k, threshold if p is None else p, threshold, k_left, threshold if p_left is None else p_left,
                    parts * MOST, vocab, COUNT=max(triton.next_power_of_2(parts * MOST), MOST), MOST=MOST,
                    HAS_P=p is not None, num_warps=8)
    mask_below[(rows, parts)](logits, threshold, logits.stride(0), vocab, PART=PART, num_warps=8)
    return k_left, p_left
