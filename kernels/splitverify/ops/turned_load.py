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
