# SPDX-License-Identifier: Apache-2.0
"""The two-stage design of K6, as far as a measurement needs it; docs/kernels/sampler.md says what came of it.

Stage 1 takes the KEEP largest logits of each part of a row, stage 2 the KEEP largest of those; top-k (k <= KEEP) and
top-p are then decided among KEEP candidates. The result is a token, drawn among them, or the smallest logit that stays,
for a third pass that masks the row as vLLM's ``apply_top_k_top_p`` does. A (logit, index) pair travels as one int64 that
sorts like the logit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

PART = 4096


@triton.jit
def _stage1(logits_ptr, keys_ptr, stride, vocab, PART: tl.constexpr, KEEP: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    i = part * PART + tl.arange(0, PART)
    x = tl.load(logits_ptr + row * stride + i, mask=i < vocab, other=float("-inf"))
    bits = x.to(tl.int32, bitcast=True)
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)                   # a signed integer that sorts like the float
    key = (ordered.to(tl.int64) << 32) | (0x7FFFFFFF - i).to(tl.int64)
    top = tl.topk(key, KEEP)
    tl.store(keys_ptr + (row * tl.num_programs(1) + part) * KEEP + tl.arange(0, KEEP), top)


@triton.jit
def _stage2(keys_ptr, k_ptr, p_ptr, threshold_ptr, token_ptr, seed, count, COUNT: tl.constexpr, KEEP: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, COUNT)
    low = -9223372036854775807
    key = tl.topk(tl.load(keys_ptr + row * count + j, mask=j < count, other=low), KEEP)
    n = tl.arange(0, KEEP)
    ordered = (key >> 32).to(tl.int32)
    x = (ordered ^ ((ordered >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)        # largest first
    k = tl.load(k_ptr + row)
    kth = tl.max(tl.where(n == k - 1, x, float("-inf")), 0)
    inside = x >= kth                                              # ties of the kth stay, as in vLLM
    weight = tl.where(inside, tl.exp(x - tl.max(x, 0)), 0.0)
    weight = weight / tl.sum(weight, 0)
    before = tl.cumsum(weight, 0) - weight
    stay = inside & ((before < tl.load(p_ptr + row)) | (n == 0))
    tl.store(threshold_ptr + row, tl.min(tl.where(stay, x, float("inf")), 0))
    noise = -tl.log(-tl.log(tl.maximum(tl.rand(seed, row.to(tl.int32) * KEEP + n), 1e-10)))
    choice = tl.argmax(tl.where(stay, x + noise, float("-inf")), 0)
    token = 0x7FFFFFFF - (key & 0xFFFFFFFF)
    tl.store(token_ptr + row, tl.sum(tl.where(n == choice, token, 0), 0))


@triton.jit
def _mask(logits_ptr, threshold_ptr, stride, vocab, PART: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * PART + tl.arange(0, PART)
    at = logits_ptr + row * stride + i
    x = tl.load(at, mask=i < vocab, other=0.0)
    tl.store(at, float("-inf"), mask=(i < vocab) & (x < tl.load(threshold_ptr + row)))


def candidates(logits: torch.Tensor, k: torch.Tensor, p: torch.Tensor, keep: int, seed: int = 0,
               warps: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """For fp32 ``logits [R, V]``: the smallest logit that stays in each row, fp32, and a token drawn from it, int64.

    ``k`` int32 ``[R]``, at most ``keep`` (a power of two); ``p`` fp32 ``[R]``.
    """
    rows, vocab = logits.shape
    parts = triton.cdiv(vocab, PART)
    keys = torch.empty(rows, parts * keep, dtype=torch.int64, device=logits.device)
    threshold = torch.empty(rows, dtype=torch.float32, device=logits.device)
    token = torch.empty(rows, dtype=torch.int64, device=logits.device)
    _stage1[(rows, parts)](logits, keys, logits.stride(0), vocab, PART=PART, KEEP=keep, num_warps=warps)
    _stage2[(rows,)](keys, k, p, threshold, token, seed, parts * keep, COUNT=triton.next_power_of_2(parts * keep),
                     KEEP=keep, num_warps=warps)
    return threshold, token


def mask(logits: torch.Tensor, k: torch.Tensor, p: torch.Tensor, keep: int) -> torch.Tensor:
    """Mask ``logits`` in place, as ``apply_top_k_top_p`` does."""
    threshold, _ = candidates(logits, k, p, keep)
    rows, vocab = logits.shape
    _mask[(rows, triton.cdiv(vocab, PART))](logits, threshold, logits.stride(0), vocab, PART=PART, num_warps=8)
    return logits
