# SPDX-License-Identifier: Apache-2.0
"""Device code of K4 and K5: where the keys of a dense tile lie, and how q and K become operands of the score product.

Symbols as in :mod:`splitverify.ops.prefill_kernel`. Tiles are dense here: tile ``t`` holds the keys from ``t * TILE`` on,
whatever the page size, so that no score of a whole tile needs a mask. A tile no longer than a page lies in two pages at
most, whose ids are looked up one step early; a longer one looks up the page of each key.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import e4m3_to_fp16

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)

PLAIN = tl.constexpr(0)
ONE_TERM = tl.constexpr(1)
TWO_TERMS = tl.constexpr(2)


@triton.jit
def table_entry(entry, COMPILED: tl.constexpr):
    """One page id as int64, by a load that triton's pipeliner does not know and so does not wait for."""
    if COMPILED:
        block = tl.inline_asm_elementwise("ld.global.nc.b32 $0, [$1];", "=r,l", [entry], dtype=tl.int32, is_pure=True,
                                          pack=1)
    else:
        block = tl.load(entry)
    return block.to(tl.int64)


@triton.jit
def pages_of(bt_row, t, last_block, TILE: tl.constexpr, BLOCK: tl.constexpr, COMPILED: tl.constexpr):
    """The ids of the one or two pages of tile ``t``; of the last page for tiles beyond it."""
    if BLOCK < TILE:
        one = tl.full((), 0, tl.int64)
        two = one
    else:
        page = t * TILE // BLOCK
        one = table_entry(bt_row + tl.minimum(page, last_block), COMPILED)
        two = one
        if BLOCK % TILE != 0:
            two = table_entry(bt_row + tl.minimum(page + 1, last_block), COMPILED)
    return one, two


@triton.jit
def rows_of(bt_row, key, one, two, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN: tl.constexpr,
            SCALE_STRIDE_TOKEN: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, ALIGN: tl.constexpr):
    """Offsets [TILE] of the rows of ``key`` and of their scales, with 64 bits, because pools pass 2**31 elements."""
    if BLOCK < TILE:
        block = tl.load(bt_row + tl.minimum(key // BLOCK, last_block)).to(tl.int64)
        n = key % BLOCK
    else:
        n = t * TILE % BLOCK + tl.arange(0, TILE)
        block = one
        if BLOCK % TILE != 0:
            block = tl.where(n < BLOCK, one, two)
            n = tl.where(n < BLOCK, n, n - BLOCK)
    off = tl.multiple_of(block * stride_block + n * STRIDE_TOKEN, [ALIGN])
    return off, block * scale_stride_block + n * SCALE_STRIDE_TOKEN


@triton.jit
def rounded(x):
    """fp32 in [-127.5, 127.5] to the nearest int8, halves to even: adding 1.5 * 2**23 leaves it in the low byte."""
    return (x + 12582912.0).to(tl.int32, bitcast=True).to(tl.int8)


@triton.jit
def load_q(q_base, tok, head_of_group, ok, stride_qt, stride_qh, d, QK: tl.constexpr, FMT: tl.constexpr,
           MMA: tl.constexpr, DOT: tl.constexpr):
    """Rows of q [BM, D] as operand, their second term, and the factor [BM] of the scores.

    ONE_TERM: q = hi * factor, hi being q in 127 steps of its row's maximum. TWO_TERMS: q = (254 hi + lo) * factor.
    """
    q = tl.load(q_base + tok[:, None] * stride_qt + head_of_group[:, None] * stride_qh + d[None, :],
                mask=ok[:, None], other=0.0)
    if QK == PLAIN:
        if FMT > 0:
            q = tl.minimum(tl.maximum(q.to(tl.float32), -65504.0), 65504.0)
        q = q.to(MMA).to(DOT)
        return q, q, tl.zeros([tok.shape[0]], tl.float32)
    else:
        q = q.to(tl.float32)
        step = tl.maximum(tl.max(tl.abs(q), 1), 1e-20) / 127.0
        q = q / step[:, None]
        hi = rounded(q)
        if QK == TWO_TERMS:
            return hi, rounded((q - hi.to(tl.float32)) * 254.0), step / 254.0
        else:
            return hi, hi, step


@triton.jit
def wide_keys(k, FMT: tl.constexpr, DECODE: tl.constexpr):
    """K of a bf16, fp16 or fp8 cache as fp32."""
    if FMT == FP8:
        return e4m3_to_fp16(k, DECODE).to(tl.float32)
    else:
        return k.to(tl.float32)


@triton.jit
def sampled_mean(data, bt_row, seq_len, last_block, stride_block, d, STRIDE_TOKEN: tl.constexpr, BLOCK: tl.constexpr,
                 FMT: tl.constexpr, DECODE: tl.constexpr):
    """The mean [D] of 64 keys spread evenly over the request.

    Softmax does not see a vector that is taken off every key, so any vector is right; this one makes the keys small.
    """
    key = (tl.arange(0, 64).to(tl.int64) * seq_len // 64).to(tl.int32)
    block = tl.load(bt_row + tl.minimum(key // BLOCK, last_block)).to(tl.int64)
    row = data + (block * stride_block + key % BLOCK * STRIDE_TOKEN)[:, None] + d[None, :]
    return tl.sum(wide_keys(tl.load(row), FMT, DECODE), 0) / 64.0


@triton.jit
def small_keys(k, mean, FMT: tl.constexpr, DECODE: tl.constexpr):
    """K less ``mean`` as int8 [TILE, D], and its steps [TILE]."""
    k = wide_keys(k, FMT, DECODE) - mean[None, :]
    step = tl.maximum(tl.max(tl.abs(k), 1), 1e-20) / 127.0
    return rounded(k * (1.0 / step)[:, None]), step
