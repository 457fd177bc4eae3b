# SPDX-License-Identifier: Apache-2.0
"""Device code: which keys a tile holds, where they lie in the paged cache, and how they become operands.

Symbols as in :mod:`splitverify.ops.split_kernel`.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import e4m3_to_fp16, int8_to_fp16
from splitverify.ops.fast_math import log2

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)
NEVER = tl.constexpr(1 << 30)  # a key position that no query sees


@triton.jit
def tile_of(key, TILE: tl.constexpr, BLOCK: tl.constexpr):
    """The index of the tile that holds ``key``. Tiles do not cross pages: a page's last one may be part empty. Pages
    smaller than a tile are the exception; there a tile spans several."""
    if BLOCK >= TILE:
        return (key // BLOCK) * ((BLOCK + TILE - 1) // TILE) + (key % BLOCK) // TILE
    else:
        return key // TILE


@triton.jit
def column(D: tl.constexpr, FMT: tl.constexpr):
    """[D]: which element of a row each operand column holds; see ``spread``."""
    c = tl.arange(0, D)
    if FMT > 0:
        c = tl.max_contiguous(tl.multiple_of((c % (D // 2)) // 8 * 16 + c // (D // 2) * 8 + c % 8, [8]), [8])
    return c


@triton.jit
def spread(x, TILE: tl.constexpr, D: tl.constexpr):
    """Reorder the columns of decoded bytes [TILE, D]: first the even groups of eight, then the odd ones.

    A thread loads 16 bytes and decodes them to 32. Written side by side, eight threads would use half of the shared
    memory banks twice; spread, each thread writes 16 bytes next to its neighbour's. The order of a row does not matter
    to a dot product as long as q has the same; the output's columns are put back where they are stored.
    """
    return tl.reshape(tl.permute(tl.reshape(x, (TILE, D // 16, 2, 8)), (0, 2, 1, 3)), (TILE, D))


@triton.jit
def page_of(bt_row, t, last_block, TILE: tl.constexpr, BLOCK: tl.constexpr, COMPILED: tl.constexpr):
    """The block id of tile ``t``'s page; of the last page for tiles beyond it, and 0 where a tile has no one page."""
    block = tl.full((), 0, tl.int64)
    if BLOCK >= TILE:
        entry = bt_row + tl.minimum(t // ((BLOCK + TILE - 1) // TILE), last_block)
        if COMPILED:
            # As a tl.load, triton's pipeliner would prefetch it like data and make every load of K wait for it.
            block = tl.inline_asm_elementwise("ld.global.nc.b32 $0, [$1];", "=r,l", [entry], dtype=tl.int32,
                                              is_pure=True, pack=1).to(tl.int64)
        else:
            block = tl.load(entry).to(tl.int64)
    return block


@triton.jit
def tile_keys(bt_row, block, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN: tl.constexpr,
               SCALE_STRIDE_TOKEN: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, ALIGN: tl.constexpr):
    """Positions [TILE] of tile ``t``'s keys (NEVER beyond the page), and where they lie: (scalar, [TILE]) offsets of
    the rows and of the scales. Page offsets have 64 bits, because pools pass 2**31 elements."""
    ar = tl.arange(0, TILE)
    if BLOCK >= TILE:
        PER_PAGE: tl.constexpr = (BLOCK + TILE - 1) // TILE
        page = t // PER_PAGE
        n0 = (t % PER_PAGE) * TILE
        key = page * BLOCK + n0 + ar
        if BLOCK % TILE != 0:
            key = tl.where(n0 + ar < BLOCK, key, NEVER)
        return (key, block * stride_block + n0 * STRIDE_TOKEN, ar * STRIDE_TOKEN,
                block * scale_stride_block + n0 * SCALE_STRIDE_TOKEN, ar * SCALE_STRIDE_TOKEN)
    else:
        key = t * TILE + ar
        block = tl.load(bt_row + tl.minimum(key // BLOCK, last_block)).to(tl.int64)    # [TILE]
        return (key, stride_block * 0, tl.multiple_of(block * stride_block + (key % BLOCK) * STRIDE_TOKEN, [ALIGN]),
                scale_stride_block * 0, block * scale_stride_block + (key % BLOCK) * SCALE_STRIDE_TOKEN)


@triton.jit
def load_q(q_base, tok, head_of_group, ok, stride_qt, stride_qh, D: tl.constexpr, FMT: tl.constexpr,
            INT8_QK: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr):
    """Rows of q [BM, D] as operand. With INT8_QK two int8 operands and a factor [BM]: q = (254 hi + lo) * factor, where
    hi is q rounded to 127 steps of its row's maximum and lo the rest in steps 254 times finer."""
    d = tl.arange(0, D) if INT8_QK else column(D, FMT)
    q = tl.load(q_base + tok[:, None] * stride_qt + head_of_group[:, None] * stride_qh + d[None, :],
                mask=ok[:, None], other=0.0)                       # [BM, D]
    if INT8_QK:
        q = q.to(tl.float32)
        step = tl.maximum(tl.max(tl.abs(q), 1), 1e-20) / 127.0
        q = q / step[:, None]
        hi = tl.floor(q + 0.5)
        lo = tl.floor((q - hi) * 254.0 + 0.5)
        return hi.to(tl.int8), lo.to(tl.int8), step / 254.0
    else:
        if FMT > 0:
            q = tl.minimum(tl.maximum(q.to(tl.float32), -65504.0), 65504.0)
        q = q.to(MMA).to(DOT)
        return q, q, tl.zeros([tok.shape[0]], tl.float32)


@triton.jit
def load_keys(data, scales, bt_row, block, t, lo, hi, key_mul, last_block, stride_block, scale_stride_block,
               STRIDE_TOKEN: tl.constexpr, VALUE_OFFSET: tl.constexpr, SCALE_STRIDE_TOKEN: tl.constexpr,
               VALUE_SCALE_OFFSET: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
               ALIGN: tl.constexpr, FMT: tl.constexpr, DECODE: tl.constexpr, INT8_QK: tl.constexpr,
               MMA: tl.constexpr, DOT: tl.constexpr, COMPILED: tl.constexpr):
    """K and V of tile ``t`` as operands [TILE, D], the factor of its scores, log2 and inverse of its V scales [TILE],
    and the positions of its keys."""
    d = tl.arange(0, D)
    key, base, off, s_base, s_off = tile_keys(bt_row, block, t, last_block, stride_block, scale_stride_block,
                                              STRIDE_TOKEN, SCALE_STRIDE_TOKEN, TILE, BLOCK, ALIGN)
    # Slots outside [lo, hi) may hold NaN, or belong to the null block: they are never read.
    ok = (key >= lo) & (key < hi)
    row = data + base + off[:, None] + d[None, :]                  # [TILE, D]
    k = tl.load(row, mask=ok[:, None], other=0)                    # [TILE, D]
    v = tl.load(row + VALUE_OFFSET, mask=ok[:, None], other=0)     # K's aligned base plus a constant keeps loads wide
    v_log = key_mul
    v_inv = key_mul
    if FMT == INT8:
        # Loaded as a column and reduced over its axis of one: that keeps the scales in a layout of their own. Loaded as
        # a vector they take the layout of the scores, where every thread fetches, and logs, a quarter of the tile.
        s_row = scales + s_base + s_off[:, None] + tl.arange(0, 1)[None, :]            # [TILE, 1]
        ks = tl.load(s_row, mask=ok[:, None], other=1.0)
        vs = tl.load(s_row + VALUE_SCALE_OFFSET, mask=ok[:, None], other=1.0)
        vs = tl.maximum(vs, 1e-30)                                 # log2 of a zero scale would be -inf
        key_mul = tl.sum(key_mul * ks, 1)
        v_log = log2(vs, COMPILED)                                 # [TILE, 1]
        v_inv = tl.sum(tl.exp2(-v_log), 1)
        v_log = tl.sum(v_log, 1)
        if not INT8_QK:
            k = spread(int8_to_fp16(k, DECODE), TILE, D).to(DOT)
        v = spread(int8_to_fp16(v, DECODE), TILE, D).to(DOT)
    elif FMT == FP8:
        k = spread(e4m3_to_fp16(k, DECODE), TILE, D).to(DOT)
        v = spread(e4m3_to_fp16(v, DECODE), TILE, D).to(DOT)
    else:
        k = k.to(MMA).to(DOT)
        v = v.to(MMA).to(DOT)
    return k, v, key_mul, v_log, v_inv, key
