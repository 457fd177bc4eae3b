# SPDX-License-Identifier: Apache-2.0
"""Device code: what :mod:`splitverify.ops.turned_kernel` loads, and how it becomes operands. Symbols as there."""

import triton
import triton.language as tl

from splitverify.ops.decode import units_of_e4m3, units_of_int8
from splitverify.ops.split_load import NEVER, tile_keys

INT8 = tl.constexpr(2)


@triton.jit
def columns(q_row, ok, first, COUNT: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr):
    """Elements ``first``, ``first + 2`` ... of the rows of q at ``q_row`` [ROWS], as operand [COUNT, ROWS]."""
    d = first + 2 * tl.arange(0, COUNT)
    q = tl.load(q_row[None, :] + d[:, None], mask=ok[None, :], other=0.0).to(tl.float32)
    return tl.minimum(tl.maximum(q, -65504.0), 65504.0).to(MMA).to(DOT)


@triton.jit
def four_bits(x):
    """fp32 to four significant bits, halves to even: what e4m3 holds, so that its conversion has nothing to round."""
    bits = x.to(tl.int32, bitcast=True)
    return ((bits + 0x7FFFF + ((bits >> 20) & 1)) & -0x100000).to(tl.float32, bitcast=True)


@triton.jit
def raw_columns(q_row, ok, D: tl.constexpr, FMT: tl.constexpr, DOT: tl.constexpr, COMPILED: tl.constexpr):
    """The rows of q at ``q_row`` [ROWS] as two operands [D, ROWS] of the cache's type, and the factor of the scores.

    int8: q = (254 hi + lo) * factor. e4m3: q = (hi + lo) * factor, a power of two: 4 bits each hold bf16's 8 exactly. The
    factor is one number, from the largest element of all rows: scores of smaller rows err by no more than that row's.
    """
    d = tl.arange(0, D)
    q = tl.load(q_row[None, :] + d[:, None], mask=ok[None, :], other=0.0).to(tl.float32)
    top = tl.maximum(tl.max(tl.max(tl.abs(q), 0), 0), 1e-20)
    if FMT == INT8:
        q = q * (127.0 / top)
        hi = tl.floor(q + 0.5)
        lo = tl.floor((q - hi) * 254.0 + 0.5)
        return hi.to(tl.int8), lo.to(tl.int8), top / (127.0 * 254.0)
    else:
        power = (top.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)    # power <= top < 2 * power
        q = q * (128.0 / power)
        hi = four_bits(q).to(tl.float8e4nv)
        lo = four_bits(q - hi.to(tl.float32)).to(tl.float8e4nv)
        if COMPILED:
            return hi, lo, power / 128.0
        else:
            return hi.to(DOT), lo.to(DOT), power / 128.0


@triton.jit
def raw_keys(data, off, seen, D: tl.constexpr, FMT: tl.constexpr, DOT: tl.constexpr, COMPILED: tl.constexpr,
             READ_ALL: tl.constexpr):
    """The rows of K ``off`` [TILE] units behind ``data`` as the operand [TILE, D] that they are. May hold NaN where READ_ALL
    reads what nobody sees: each key's scores are its own, and those are replaced."""
    if FMT == INT8:
        row = data.to(tl.pointer_type(tl.int8)) + (2 * off)[:, None] + tl.arange(0, D)[None, :]
    else:
        row = data.to(tl.pointer_type(tl.float8e4nv)) + (2 * off)[:, None] + tl.arange(0, D)[None, :]
    if READ_ALL:
        k = tl.load(row)
    else:
        k = tl.load(row, mask=seen[:, None], other=0.0 if FMT != INT8 else 0)
    if COMPILED or FMT == INT8:
        return k
    else:
        return k.to(DOT)


@triton.jit
def decode_units(x, FMT: tl.constexpr, DECODE: tl.constexpr, DOT: tl.constexpr):
    """Units as two operands of the same shape: their even elements and their odd ones."""
    if FMT == INT8:
        low, high = units_of_int8(x, DECODE)
    else:
        low, high = units_of_e4m3(x, DECODE)
    return low.to(DOT), high.to(DOT)


@triton.jit
def key_units(row, seen, FIRST: tl.constexpr, COUNT: tl.constexpr, FMT: tl.constexpr, DECODE: tl.constexpr,
              DOT: tl.constexpr, READ_ALL: tl.constexpr):
    """COUNT units from FIRST on of the rows of K at ``row`` [TILE, 1], decoded: two operands [TILE, COUNT]."""
    row += FIRST + tl.arange(0, COUNT)[None, :]
    if READ_ALL:
        k = tl.load(row)
    else:
        k = tl.load(row, mask=seen[:, None], other=0)
    return decode_units(k, FMT, DECODE, DOT)


@triton.jit
def value_units(column, seen, FIRST: tl.constexpr, COUNT: tl.constexpr, FMT: tl.constexpr, DECODE: tl.constexpr,
                DOT: tl.constexpr, READ_ALL: tl.constexpr):
    """As :func:`key_units` of V, whose rows at ``column`` [1, TILE] become columns: two operands [COUNT, TILE]."""
    column += FIRST + tl.arange(0, COUNT)[:, None]
    if READ_ALL:
        v = tl.load(column)
    else:
        v = tl.load(column, mask=seen[None, :], other=0)
    return decode_units(v, FMT, DECODE, DOT)


@triton.jit
def reload(pointer, COMPILED: tl.constexpr):
    """Load an int32 where it is needed, although it is known: what depends on it is then neither kept in registers nor
    computed ahead of the branch that asks for it, as the compiler would with what it finds cheap."""
    if COMPILED:
        return tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [pointer], dtype=tl.int32, is_pure=False,
                                         pack=1)
    else:
        return tl.load(pointer)


@triton.jit
def aligned_tile(bt_row, block, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN: tl.constexpr,
                 SCALE_STRIDE_TOKEN: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, ALIGN: tl.constexpr):
    """The first key of tile ``t``, whether it was moved, and then as :func:`tile_keys`.

    A page's last tile, where the page is no multiple of it, is moved back to end with the page: nothing beyond a page is
    read, and all rows lie at constant distances. The keys that it then shares with the tile before are NEVER.
    """
    ar = tl.arange(0, TILE)
    if BLOCK >= TILE:
        PER_PAGE: tl.constexpr = (BLOCK + TILE - 1) // TILE
        page = t // PER_PAGE
        n = (t % PER_PAGE) * TILE
        key = page * BLOCK + n + ar
        n0 = n
        if BLOCK % TILE != 0:
            n0 = tl.minimum(n, BLOCK - TILE)
            key = tl.where(n0 + ar >= n, page * BLOCK + n0 + ar, NEVER)
        return (page * BLOCK + n, n0 != n, key, block * stride_block + n0 * STRIDE_TOKEN, ar * STRIDE_TOKEN,
                block * scale_stride_block + n0 * SCALE_STRIDE_TOKEN, ar * SCALE_STRIDE_TOKEN)
    else:
        key, base, off, s_base, s_off = tile_keys(bt_row, block, t, last_block, stride_block, scale_stride_block,
                                                  STRIDE_TOKEN, SCALE_STRIDE_TOKEN, TILE, BLOCK, ALIGN)
        return t * TILE, t < 0, key, base, off, s_base, s_off
