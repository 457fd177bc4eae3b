# SPDX-License-Identifier: Apache-2.0
"""K4 and K5: causal attention of a prefill, in chunks of any length, straight on a paged KV cache.

K4 is this on an int8 per-token-head cache, whose K is multiplied as it is stored. K5 is this on a bf16, fp16 or fp8
cache; with ``scores="int8"`` K is quantized tile by tile on the way, less a mean of the request's keys, so that there is
neither a pass before the attention nor scratch that grows with the context. Source of the ideas: FlashAttention's loop,
and SageAttention's int8 scores with smoothed K, here with a step per token and on vLLM's cache layout.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl

from splitverify.layout import FP8, INT8, UNQUANTIZED, CacheView
from splitverify.ops.config import DECODERS
from splitverify.ops.prefill_config import SCORES, PrefillConfig, scores_refused
from splitverify.ops.prefill_kernel import prefill
from splitverify.ops.verify_attention import LOG2E, interpreting, unsupported

EVERYWHERE = 2**31 - 1


def prefill_constants(cache: CacheView, num_heads: int, config: PrefillConfig, scores: str,
                      q_dtype: torch.dtype, interpret: bool) -> dict[str, Any]:
    """The compile-time arguments of the kernel for a launch; also what the cross-compilation tests use."""
    group = num_heads // cache.num_kv_heads
    half = cache.fmt != UNQUANTIZED or q_dtype == torch.float16 or config.sum16
    mma = tl.float16 if half else tl.bfloat16
    return dict(
        STRIDE_TOKEN=cache.stride_token, STRIDE_HEAD=cache.stride_head, VALUE_OFFSET=cache.value_offset,
        SCALE_STRIDE_TOKEN=cache.scale_stride_token, SCALE_STRIDE_HEAD=cache.scale_stride_head,
        KEY_SCALE_OFFSET=cache.key_scale_offset, VALUE_SCALE_OFFSET=cache.value_scale_offset - cache.key_scale_offset,
        G=group, D=cache.head_size, BLOCK=cache.block_size, ROWS=config.rows, QT=config.rows // group, TILE=config.tile,
        ALIGN=math.gcd(cache.stride_block, cache.stride_token, 16), FMT=cache.fmt, QK=SCORES[scores],
        DECODE=DECODERS["plain" if interpret or cache.fmt == UNQUANTIZED else config.decode], SUM16=config.sum16,
        SPREAD=config.spread and cache.fmt != UNQUANTIZED, LAZY=config.lazy, STAGES=config.stages, MMA=mma,
        DOT=tl.float32 if interpret else mma, COMPILED=not interpret)


def prefill_attention(
    q: torch.Tensor,
    cache: CacheView,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    query_start_loc: torch.Tensor,
    out: torch.Tensor,
    *,
    scale: float,
    config: PrefillConfig,
    scores: str = "plain",
    longer_than: int = 0,
    within: int = EVERYWHERE,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Causal attention of the last ``q_len`` tokens of every request over its cached keys, those tokens' own included.

    ``q``, ``out``       ``[T, Hq, D]`` bf16 or fp16, last stride 1, other strides free
    ``cache``            from :func:`splitverify.layout.view_cache`; bf16, fp16, fp8-e4m3 or int8 with scales
    ``block_table``      int32 ``[R, width]``, any row stride
    ``seq_lens``         int32 ``[R]``, on the device, counting the new tokens
    ``query_start_loc``  int32 ``[R + 1]``, on the device; the only source of query lengths. A request without tokens
                         is padding. ``T`` may exceed its last entry: rows beyond are not written.
    ``scale``            of the scores; positive
    ``scores``           ``plain``, ``int8`` or ``exact8``, see :data:`splitverify.ops.prefill_config.SCORES`
    ``longer_than``      requests of that many query tokens or fewer are left alone (nothing of theirs is written) if
    ``within``           all their tokens have an index below this
    ``k_scale, v_scale`` fp32 ``[1]``, on the device: the per-tensor scales of an fp8 cache

    Returns ``out``. One launch; reads no length on the host, allocates nothing, and gives the same bits for the same
    input and config, whatever else is in the batch. A query that sees no key gets zeros. Raises ``ValueError`` for sizes
    it does not take.
    """
    tokens, num_heads, head_size = q.shape
    why = unsupported(num_heads, cache.num_kv_heads, head_size, 1) or scores_refused(scores, cache.fmt)
    if not why and (head_size != cache.head_size or q.stride(2) != 1 or out.stride(2) != 1 or not scale > 0):
        why = "head size of q and cache differ, a last stride is not 1, or the scale is not positive"
    if not why and cache.fmt == FP8 and (k_scale is None or v_scale is None):
        why = "an fp8 cache needs k_scale and v_scale"
    if why:
        raise ValueError(why)
    requests = query_start_loc.shape[0] - 1
    if tokens == 0 or requests < 1:
        return out
    consts = prefill_constants(cache, num_heads, config, scores, q.dtype, interpreting())
    unread = seq_lens                                              # stands in for pointers this format does not read
    prefill[(tokens // consts["QT"] + requests, cache.num_kv_heads)](
        q, cache.data, cache.scales if cache.fmt == INT8 else unread, k_scale if cache.fmt == FP8 else unread,
        v_scale if cache.fmt == FP8 else unread, block_table, seq_lens, query_start_loc, out, scale * LOG2E,
        q.stride(0), q.stride(1), out.stride(0), out.stride(1), cache.stride_block, cache.scale_stride_block,
        block_table.stride(0), requests, longer_than, within, **consts, num_warps=config.warps, num_stages=config.stages)
    return out
