# SPDX-License-Identifier: Apache-2.0
"""K2: quantize the new K and V of a step and store them into the paged cache, in one launch.

The inline int8 layout gets the bytes that vLLM 0.31's own writer would have written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from splitverify.layout import CacheView

FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)


@triton.jit
def _e4m3_bits(x):
    """fp32 in [-448, 448] to e4m3 bytes, round to nearest even, by integer operations: right below sm_89 too."""
    bits = x.to(tl.uint32, bitcast=True)
    sign = (bits >> 24) & 0x80
    mag = bits & 0x7FFFFFFF
    # Normal (>= 2**-6): drop 20 mantissa bits, rounding half to even, and move the exponent bias from 127 to 7.
    normal = ((mag + 0x7FFFF + ((mag >> 20) & 1)) >> 20) - (120 << 3)
    # Subnormal: a multiple of 2**-9. Adding 2**14 leaves exactly that multiple, rounded to even, in the mantissa.
    shifted = (mag.to(tl.float32, bitcast=True) + 16384.0).to(tl.uint32, bitcast=True)
    subnormal = shifted - 0x46800000
    return (tl.where(mag < 0x3C800000, subnormal, normal) | sign).to(tl.uint8)


@triton.jit
def _store_row(x, row_ptr, scale_ptr, inv_or_scale, FMT: tl.constexpr):
    """Store one row of D values (fp32) at ``row_ptr``; the int8 scale at ``scale_ptr``."""
    d = tl.arange(0, x.shape[0])
    if FMT == INT8:
        s = tl.maximum(tl.max(tl.abs(x), 0) / 127.0, 1e-6)
        y = x * (1.0 / s)
        y = tl.where(y >= 0, y + 0.5, y - 0.5)                     # half away from zero: the conversion truncates
        y = tl.minimum(tl.maximum(y, -128.0), 127.0)
        tl.store(row_ptr + d, y.to(tl.int8))
        tl.store(scale_ptr, s)
    elif FMT == FP8:
        y = x / inv_or_scale
        tl.store(row_ptr + d, _e4m3_bits(tl.minimum(tl.maximum(y, -448.0), 448.0)))
    else:
        tl.store(row_ptr + d, x.to(row_ptr.dtype.element_ty))


@triton.jit(do_not_specialize_on_alignment=["slot_ptr"])
def _quantize_store(key_ptr, value_ptr, data_ptr, scales_ptr, k_scale_ptr, v_scale_ptr, slot_ptr, stride_kt, stride_kh,
                    stride_vt, stride_vh, stride_block: tl.int64, scale_stride_block: tl.int64,
                    STRIDE_TOKEN: tl.constexpr, STRIDE_HEAD: tl.constexpr, VALUE_OFFSET: tl.constexpr,
                    SCALE_STRIDE_TOKEN: tl.constexpr, SCALE_STRIDE_HEAD: tl.constexpr, KEY_SCALE_OFFSET: tl.constexpr,
                    VALUE_SCALE_OFFSET: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, FMT: tl.constexpr):
    """Program (token, KV head): both sides of one token."""
    t = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1)
    slot = tl.load(slot_ptr + t).to(tl.int64)
    if slot < 0:                                                   # PAD_SLOT_ID: nothing to write
        return
    block = slot // BLOCK
    n = slot % BLOCK
    d = tl.arange(0, D)
    k = tl.load(key_ptr + t * stride_kt + h * stride_kh + d).to(tl.float32)            # [D]
    v = tl.load(value_ptr + t * stride_vt + h * stride_vh + d).to(tl.float32)
    row = data_ptr + block * stride_block + n * STRIDE_TOKEN + h * STRIDE_HEAD
    scale = scales_ptr + block * scale_stride_block + n * SCALE_STRIDE_TOKEN + h * SCALE_STRIDE_HEAD
    ks = 1.0
    vs = 1.0
    if FMT == FP8:
        ks = tl.load(k_scale_ptr).to(tl.float32)
        vs = tl.load(v_scale_ptr).to(tl.float32)
    _store_row(k, row, scale + KEY_SCALE_OFFSET, ks, FMT)
    _store_row(v, row + VALUE_OFFSET, scale + VALUE_SCALE_OFFSET, vs, FMT)


def quantize_store(key: torch.Tensor, value: torch.Tensor, cache: CacheView, slot_mapping: torch.Tensor,
                   k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None) -> None:
    """Store ``key`` and ``value`` at the slots of ``slot_mapping``.

    ``key``, ``value``   ``[T, Hkv, D]`` bf16, fp16 or fp32, last stride 1
    ``slot_mapping``     int64 ``[<= T]``: block * block_size + offset, or -1 for a token that is not stored. A shorter
                         mapping leaves the tokens beyond it out.
    ``k_scale, v_scale`` fp32 ``[1]`` on the device, for fp8

    int8: scale = max(max|x| / 127, 1e-6) per (token, head, side), x * (1 / scale) rounded half away from zero.
    fp8: x / scale saturated at 448, round to nearest even. Otherwise: converted to the cache's dtype.
    Raises ``ValueError`` when shapes do not fit or an fp8 scale is missing.
    """
    _, heads, head_size = key.shape
    if heads != cache.num_kv_heads or head_size != cache.head_size or value.shape != key.shape:
        raise ValueError(f"K {tuple(key.shape)}, V {tuple(value.shape)}: the cache holds {cache.num_kv_heads} heads "
                         f"of {cache.head_size}")
    if key.stride(2) != 1 or value.stride(2) != 1 or slot_mapping.shape[0] > key.shape[0]:
        raise ValueError("the last stride of K and V must be 1, and there may be no more slots than tokens")
    if cache.fmt == 1 and (k_scale is None or v_scale is None):
        raise ValueError("an fp8 cache needs k_scale and v_scale")
    if slot_mapping.shape[0] == 0:
        return
    unread = slot_mapping
    _quantize_store[(slot_mapping.shape[0], heads)](
        key, value, cache.data, unread if cache.scales is None else cache.scales, unread if k_scale is None else k_scale,
        unread if v_scale is None else v_scale, slot_mapping, key.stride(0), key.stride(1), value.stride(0),
        value.stride(1), cache.stride_block, cache.scale_stride_block, STRIDE_TOKEN=cache.stride_token,
        STRIDE_HEAD=cache.stride_head, VALUE_OFFSET=cache.value_offset, SCALE_STRIDE_TOKEN=cache.scale_stride_token,
        SCALE_STRIDE_HEAD=cache.scale_stride_head, KEY_SCALE_OFFSET=cache.key_scale_offset,
        VALUE_SCALE_OFFSET=cache.value_scale_offset, D=head_size, BLOCK=cache.block_size, FMT=cache.fmt, num_warps=2)
