# SPDX-License-Identifier: Apache-2.0
"""K1: attention of a verify step, 1 to 64 query tokens a request, over a paged KV cache split into segments.

Source of the idea: split-KV ("flash") decoding, applied to several query tokens at once and to vLLM's cache layout.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl

from splitverify.layout import FP8, INT8, UNQUANTIZED, CacheView
from splitverify.ops.config import DECODERS, HEAD_SIZES, MAX_GROUP, MAX_QUERY_LEN, KernelConfig
from splitverify.ops.split_combine import combine
from splitverify.ops.split_kernel import split_attention
from splitverify.ops.turned_kernel import turned_attention

if TYPE_CHECKING:
    from splitverify.ops.scratch import Scratch

LOG2E = 1.4426950408889634
FENCED_TRITON = (3, 9)
"""The first triton known to put a fence between what it copied to shared memory and a matrix unit that reads it there."""


def interpreting() -> bool:
    """True under TRITON_INTERPRET=1. The interpreter multiplies bf16 as raw integers, so dots then run in fp32 on
    operands that were rounded to the operand type first."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def raw_keys_refused() -> str | None:
    """Why raw keys may not run here, or None. On an H200 two runs of the same fp8 batch differed, with the code of triton 3.6:
    there K, copied in the loop, is read in place without the fence that PTX asks for between the two."""
    found = tuple(int(n) for n in re.findall(r"\d+", triton.__version__)[:2])
    if interpreting() or found >= FENCED_TRITON:
        return None
    return f"raw keys need triton 3.9 or later: triton {triton.__version__} has no fence before the matrix unit reads them"


def unsupported(num_heads: int, num_kv_heads: int, head_size: int, max_query_len: int) -> str | None:
    """None when the kernel takes these sizes, otherwise the reason in one line."""
    if head_size not in HEAD_SIZES:
        return f"head size {head_size} is not one of {HEAD_SIZES}"
    if num_kv_heads < 1 or num_heads % num_kv_heads or num_heads // num_kv_heads > MAX_GROUP:
        return f"{num_heads} query heads over {num_kv_heads} KV heads is not a group of 1 to {MAX_GROUP}"
    if not 1 <= max_query_len <= MAX_QUERY_LEN:
        return f"{max_query_len} query tokens a request is not 1 to {MAX_QUERY_LEN}"
    return None


def kernel_constants(cache: CacheView, num_heads: int, config: KernelConfig, causal: bool,
                     window: int, q_dtype: torch.dtype, interpret: bool) -> dict[str, Any]:
    """The compile-time arguments of :func:`split_attention` for a launch; also what the cross-compilation tests use."""
    group = num_heads // cache.num_kv_heads
    per_tile = (config.rows + config.rows2) // group
    if per_tile < 1:
        raise ValueError(f"{config.rows + config.rows2} rows cannot hold one token of {group} heads")
    turned = dict(PARTS=config.parts, RAW_KEYS=config.raw_keys) if config.turned else {}
    # bf16 operands for a bf16 cache; the quantized formats are exact in fp16 and q and p lose less there.
    mma = tl.float16 if cache.fmt != UNQUANTIZED or q_dtype == torch.float16 else tl.bfloat16
    return dict(
        STRIDE_TOKEN=cache.stride_token, STRIDE_HEAD=cache.stride_head, VALUE_OFFSET=cache.value_offset,
        SCALE_STRIDE_TOKEN=cache.scale_stride_token, SCALE_STRIDE_HEAD=cache.scale_stride_head,
        KEY_SCALE_OFFSET=cache.key_scale_offset, VALUE_SCALE_OFFSET=cache.value_scale_offset - cache.key_scale_offset,
        HQ=num_heads, G=group, D=cache.head_size, BLOCK=cache.block_size, ROWS=config.rows, ROWS2=config.rows2,
        QT=per_tile, TILE=config.tile, ALIGN=math.gcd(cache.stride_block, cache.stride_token, 16), FMT=cache.fmt,
        CAUSAL=causal, WINDOW=window,
        DECODE=DECODERS["plain" if interpret else config.decode], INT8_QK=cache.fmt == INT8 and config.int8_qk,
        STAGES=config.stages, MMA=mma,
        DOT=tl.float32 if interpret else mma, COMPILED=not interpret,
        DIRECT=config.segments == 1, **turned)


def verify_attention(
    q: torch.Tensor,
    cache: CacheView,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    query_start_loc: torch.Tensor,
    out: torch.Tensor,
    scratch: Scratch | None,
    *,
    scale: float,
    max_query_len: int,
    config: KernelConfig,
    causal: bool = True,
    window: int = 0,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of the last ``q_len`` tokens of every request over its cached keys, those tokens' own included.

    ``q``, ``out``       ``[T, Hq, D]`` bf16 or fp16, last stride 1, other strides free
    ``cache``            from :func:`splitverify.layout.view_cache`; bf16, fp16, fp8-e4m3 or int8 with scales
    ``block_table``      int32 ``[R, width]``, any row stride
    ``seq_lens``         int32 ``[R]``, on the device, counting the new tokens
    ``query_start_loc``  int32 ``[R + 1]``, on the device; the only source of query lengths. A request without tokens
                         is padding. ``T`` may exceed its last entry: rows beyond are not written.
    ``scale``            of the scores; positive
    ``max_query_len``    no request may have more query tokens (host number; part of a captured graph)
    ``causal``           query at position t sees keys j <= t, otherwise all keys of the request
    ``window``           0, or W: only keys t - W < j, and when not causal also j < t + W
    ``k_scale, v_scale`` fp32 ``[1]``, on the device: the per-tensor scales of an fp8 cache

    ``scratch``          needed for more than one segment. With one segment the result is written directly and any number
                         of query tokens is taken, so that a prefill can be served from a layout only we can read.

    Returns ``out``. Makes two launches (one for one segment), reads no length on the host, allocates nothing, and gives
    the same bits for the same input and config. A query that sees no key gets zeros. Raises ``ValueError`` for sizes it
    does not take and for a scratch that is too small.
    """
    tokens, num_heads, head_size = q.shape
    direct = config.segments == 1
    why = unsupported(num_heads, cache.num_kv_heads, head_size, 1 if direct else max_query_len)
    if not direct and not why:
        why = (scratch.why_too_small(tokens, num_heads, head_size, config.segments) if scratch is not None
               else f"{config.segments} segments need scratch")
    if not why and (head_size != cache.head_size or q.stride(2) != 1 or out.stride(2) != 1 or not scale > 0):
        why = "head size of q and cache differ, a last stride is not 1, or the scale is not positive"
    if not why and config.turned and cache.fmt == UNQUANTIZED:
        why = "a turned config is for 8-bit caches"
    if not why and config.raw_keys:
        why = raw_keys_refused()
    if not why and cache.fmt == FP8 and (k_scale is None or v_scale is None):
        why = "an fp8 cache needs k_scale and v_scale"
    if why:
        raise ValueError(why)
    if tokens == 0:
        return out
    requests = query_start_loc.shape[0] - 1
    consts = kernel_constants(cache, num_heads, config, causal, window, q.dtype, interpreting())
    query_tiles = triton.cdiv(max_query_len, consts["QT"])
    part = (scratch.acc, scratch.ml) if scratch is not None else (out, out)
    unread = seq_lens                                              # stands in for pointers this format does not read
    kernel = turned_attention if config.turned else split_attention
    kernel[(config.segments * query_tiles, cache.num_kv_heads, requests)](
        q, cache.data, cache.scales if cache.fmt == INT8 else unread, k_scale if cache.fmt == FP8 else unread,
        v_scale if cache.fmt == FP8 else unread, block_table, seq_lens, query_start_loc, part[0], part[1],
        out, scale * LOG2E, q.stride(0), q.stride(1), out.stride(0), out.stride(1), cache.stride_block,
        cache.scale_stride_block, block_table.stride(0), config.segments, query_tiles, **consts, num_warps=config.warps, num_stages=config.stages)
    if direct:
        return out
    columns = 64
    combine[(tokens, num_heads, head_size // columns)](
        scratch.acc, scratch.ml, out, query_start_loc, requests, config.segments, out.stride(0), out.stride(1),
        HQ=num_heads, D=head_size, SEGMENTS_POW2=triton.next_power_of_2(config.segments), COLUMNS=columns,
        CHUNK=min(16, triton.next_power_of_2(config.segments)), num_warps=2)
    return out
