# SPDX-License-Identifier: Apache-2.0
"""The device code of K1 and K3 for 8-bit caches, the other way round: keys are the rows of the matrix unit's products.

Symbols, arguments and results as in :mod:`splitverify.ops.split_kernel`. What differs: scores are [TILE, ROWS], the
accumulator is [D, ROWS], and K and V are the *first* operand, which a matrix unit takes from registers. Their bytes go
from shared memory to registers, are decoded there and multiplied there; the other way round they are decoded, written
back to shared memory and read again.

A row is read as D / 2 *units* of 16 bits. A unit's lower byte is an even element and its upper byte an odd one: two
products, with the even columns of q and with the odd ones, sum to the scores, and the even and the odd elements of the
result are two accumulators.

With RAW_KEYS, K is not decoded at all: the matrix unit multiplies its bytes by q in two terms of the same type, straight
from shared memory. V still is, because an 8-bit operand cannot be read the other way round.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import FP8_SHIFT, NATIVE
from splitverify.ops.fast_math import log2
from splitverify.ops.split_load import page_of, tile_of
from splitverify.ops.turned_load import aligned_tile, columns, key_units, raw_columns, raw_keys, reload, value_units

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)
LOWEST = tl.constexpr(-1e30)  # below any score; finite, so that differences are numbers
HEADROOM = tl.constexpr(8.0)


@triton.jit
def _hide(s, key, seen, position, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """Scores [TILE, ROWS], -inf where the query at ``position`` [ROWS] does not see the key."""
    see = seen[:, None]
    if CAUSAL:
        see = see & (key[:, None] <= position[None, :])
    if WINDOW > 0:
        see = see & (key[:, None] > position[None, :] - WINDOW)
        if not CAUSAL:
            see = see & (key[:, None] < position[None, :] + WINDOW)
    return tl.where(see, s, float("-inf"))


@triton.jit
def _fade(s, m):
    """m [ROWS] moved to the maximum of what was seen, and the factor of what was summed before."""
    top = tl.maximum(m, tl.max(s, 0))
    return top, tl.exp2(m - top)


@triton.jit
def _weigh(s, m, l, v_log, TILE: tl.constexpr, FMT: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr):
    """Weights as operand [TILE, ROWS], and l with what they add to the denominator."""
    p = tl.exp2(s - m[None, :])
    w = p
    if FMT == INT8:
        w = p * tl.exp2(-v_log)[:, None]                           # log2(v_scale) is in the score, see split_kernel
    # A thread holds rows 8 apart: adding those moves nothing between threads.
    l += tl.sum(tl.reshape(w, (TILE // 16, 2, 8, s.shape[1])), 1)
    return p.to(MMA).to(DOT), l


@triton.jit
def _put(acc_a, acc_b, to, factor, ok):
    """Store even elements ``acc_a`` and odd ones ``acc_b`` [PART, ROWS] times ``factor`` at the rows ``to`` [ROWS]."""
    u = tl.arange(0, acc_a.shape[0])
    both = tl.join(acc_a * factor, acc_b * factor).to(to.dtype.element_ty)                    # [PART, ROWS, 2]
    tl.store(to[None, :, None] + 2 * u[:, None, None] + tl.arange(0, 2)[None, None, :], both, mask=ok[None, :, None])


@triton.jit
def _where_to(m, l, out_mul, out_row, part_row, ml, ok, DIRECT: tl.constexpr):
    """The rows to store to and the factor: the output's, or else a segment's partial result, whose m and l are stored."""
    l = tl.sum(tl.sum(l, 0), 0)                                    # [ROWS]
    if DIRECT:
        return out_row, (out_mul / tl.where(l > 0, l, 1.0))[None, :]
    else:
        tl.store(ml, m, mask=ok)
        tl.store(ml + 1, l, mask=ok)
        return part_row, tl.full([1, m.shape[0]], 1.0, tl.float32) * out_mul


@triton.jit(do_not_specialize=["stride_bt", "segments", "query_tiles"],
            do_not_specialize_on_alignment=["block_table_ptr", "seq_lens_ptr", "query_start_ptr"])
def turned_attention(
        q_ptr, data_ptr, scales_ptr, k_scale_ptr, v_scale_ptr, block_table_ptr, seq_lens_ptr, query_start_ptr,
        part_ptr, part_ml_ptr, out_ptr, score_scale, stride_qt, stride_qh, stride_ot, stride_oh, stride_block: tl.int64,
        scale_stride_block: tl.int64, stride_bt, segments, query_tiles, STRIDE_TOKEN: tl.constexpr,
        STRIDE_HEAD: tl.constexpr, VALUE_OFFSET: tl.constexpr,
        SCALE_STRIDE_TOKEN: tl.constexpr, SCALE_STRIDE_HEAD: tl.constexpr, KEY_SCALE_OFFSET: tl.constexpr,
        VALUE_SCALE_OFFSET: tl.constexpr, HQ: tl.constexpr, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
        ROWS: tl.constexpr, ROWS2: tl.constexpr, QT: tl.constexpr, TILE: tl.constexpr, ALIGN: tl.constexpr,
        FMT: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
        DECODE: tl.constexpr, INT8_QK: tl.constexpr, STAGES: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr,
        COMPILED: tl.constexpr, DIRECT: tl.constexpr, PARTS: tl.constexpr, RAW_KEYS: tl.constexpr):
    """Program (segment * query_tiles + query tile, KV head, request); see ``split_attention``."""
    tl.static_assert(FMT != 0 and not INT8_QK and ROWS2 == 0)
    seg = tl.program_id(0) // query_tiles
    tile = tl.program_id(0) % query_tiles
    head = tl.program_id(1)
    req = tl.program_id(2)
    q0 = tl.load(query_start_ptr + req)
    q_len = tl.load(query_start_ptr + req + 1) - q0
    if tile * QT >= q_len:
        return
    seq_len = tl.load(seq_lens_ptr + req)
    first = seq_len - q_len + tile * QT                            # KV position of this tile's first query token
    count = tl.minimum(q_len - tile * QT, QT)
    lo = 0                                                         # keys that some row of this tile sees: [lo, hi)
    hi = seq_len
    all_lo = 0                                                     # keys that every row of it sees: [all_lo, all_hi)
    all_hi = seq_len
    if CAUSAL:
        hi = first + count
        all_hi = first + 1
    if WINDOW > 0:
        lo = tl.maximum(0, first - WINDOW + 1)
        all_lo = tl.maximum(0, first + count - WINDOW)
        if not CAUSAL:
            hi = tl.minimum(hi, first + count - 1 + WINDOW)
            all_hi = tl.minimum(all_hi, first + WINDOW)
    t_lo = tile_of(lo, TILE, BLOCK)
    tiles = 0
    if hi > lo:
        tiles = tile_of(hi - 1, TILE, BLOCK) + 1 - t_lo
    begin = t_lo + tiles * seg // segments
    end = t_lo + tiles * (seg + 1) // segments

    row = tl.arange(0, ROWS)
    tok = row // G
    ok = tok < count
    part = ((q0 + tile * QT + tok) * HQ + head * G + row % G) * segments + seg     # [ROWS], < 2**31: scratch size
    if not DIRECT:                                                 # a direct result of no keys is zero, as any other
        if begin >= end:
            tl.store(part_ml_ptr + part * 2, tl.full([ROWS], float("-inf"), tl.float32), mask=ok)
            tl.store(part_ml_ptr + part * 2 + 1, tl.zeros([ROWS], tl.float32), mask=ok)
            return

    N: tl.constexpr = D // 2                                       # units of a row
    # K is taken in parts: all of it decoded is more registers than there are. Each part has its even and odd columns of q.
    # With PARTS = 2 there are twice as many, and V is taken in two.
    K: tl.constexpr = N // (2 * PARTS)
    q_base = q_ptr + (q0 + tile * QT).to(tl.int64) * stride_qt + head * G * stride_qh
    q_row = q_base + tok * stride_qt + (row % G) * stride_qh
    if RAW_KEYS:
        q_hi, q_lo, q_step = raw_columns(q_row, ok, D, FMT, DOT, COMPILED)
    else:
        q_a = columns(q_row, ok, 0, K, MMA, DOT)
        q_b = columns(q_row, ok, 1, K, MMA, DOT)
        q_c = columns(q_row, ok, 2 * K, K, MMA, DOT)
        q_d = columns(q_row, ok, 2 * K + 1, K, MMA, DOT)
        if PARTS == 2:
            q_e = columns(q_row, ok, 4 * K, K, MMA, DOT)
            q_f = columns(q_row, ok, 4 * K + 1, K, MMA, DOT)
            q_g = columns(q_row, ok, 6 * K, K, MMA, DOT)
            q_h = columns(q_row, ok, 6 * K + 1, K, MMA, DOT)
    m = tl.full([ROWS], LOWEST, tl.float32)
    l = tl.zeros([TILE // 16, 8, ROWS], tl.float32)                # summed over keys at the end
    PART: tl.constexpr = N // PARTS
    acc_a = tl.zeros([PART, ROWS], tl.float32)
    acc_b = tl.zeros([PART, ROWS], tl.float32)
    if PARTS == 2:
        acc_c = tl.zeros([PART, ROWS], tl.float32)
        acc_d = tl.zeros([PART, ROWS], tl.float32)

    mul = score_scale
    out_mul = 1.0
    if FMT == FP8:
        shift = 1.0
        if DECODE != NATIVE:
            shift = FP8_SHIFT
        mul = mul * tl.load(k_scale_ptr) * shift
        out_mul = tl.load(v_scale_ptr) * shift
    if RAW_KEYS:
        mul = mul * q_step
        if FMT == FP8 and DECODE != NATIVE:
            mul = mul / FP8_SHIFT                                  # the matrix unit takes these bytes for what they are
    data = (data_ptr + head * STRIDE_HEAD).to(tl.pointer_type(tl.int16))
    scales = scales_ptr + head * SCALE_STRIDE_HEAD + KEY_SCALE_OFFSET
    bt_row = block_table_ptr + req.to(tl.int64) * stride_bt
    last_block = (hi - 1) // BLOCK
    if DIRECT:
        last_block = tl.maximum(last_block, 0)                     # no keys at all: nothing is read, but looked up
    # Slots outside [lo, hi) may hold anything, NaN too. Their scales are not read; their bytes are where whatever they
    # are decodes to a number, which is then multiplied by a weight of zero.
    READ_ALL: tl.constexpr = BLOCK >= TILE and not (FMT == FP8 and DECODE == NATIVE)

    block = page_of(bt_row, begin, last_block, TILE, BLOCK, COMPILED)
    for t in tl.range(begin, end, num_stages=STAGES):
        next_block = page_of(bt_row, t + 1, last_block, TILE, BLOCK, COMPILED)
        start, moved, key, base, off, s_base, s_off = aligned_tile(
            bt_row, block, t, last_block, stride_block // 2, scale_stride_block, STRIDE_TOKEN // 2, SCALE_STRIDE_TOKEN,
            TILE, BLOCK, ALIGN // 2)
        seen = (key >= lo) & (key < hi)
        step = mul
        v_log = mul
        if FMT == INT8:
            step = mul * tl.load(scales + s_base + s_off, mask=seen, other=1.0)
            vs = tl.load(scales + s_base + s_off + VALUE_SCALE_OFFSET, mask=seen, other=1.0)
            v_log = log2(tl.maximum(vs, 1e-30), COMPILED)                 # a zero scale would give -inf
        if RAW_KEYS:
            k = raw_keys(data, base + off, seen, D, FMT, DOT, COMPILED, READ_ALL)
            if FMT == INT8:
                # |254 hi.k + lo.k| <= 255 * 127 * 128 * D < 2**31 for D <= 256: the integer sum is exact.
                i = tl.dot(k, q_hi, out_dtype=tl.int32) * 254
                s = tl.dot(k, q_lo, acc=i, out_dtype=tl.int32).to(tl.float32)
            else:
                s = tl.dot(k, q_lo)                                # the smaller terms first: fewer of their bits are lost
                s = tl.dot(k, q_hi, acc=s)
        else:
            k_row = data + base + off[:, None]                         # [TILE, 1]
            k_a, k_b = key_units(k_row, seen, 0, K, FMT, DECODE, DOT, READ_ALL)
            s = tl.dot(k_a, q_a)                                       # [TILE, ROWS] fp32
            s = tl.dot(k_b, q_b, acc=s)
            k_a, k_b = key_units(k_row, seen, K, K, FMT, DECODE, DOT, READ_ALL)
            s = tl.dot(k_a, q_c, acc=s)
            s = tl.dot(k_b, q_d, acc=s)
            if PARTS == 2:
                k_a, k_b = key_units(k_row, seen, 2 * K, K, FMT, DECODE, DOT, READ_ALL)
                s = tl.dot(k_a, q_e, acc=s)
                s = tl.dot(k_b, q_f, acc=s)
                k_a, k_b = key_units(k_row, seen, 3 * K, K, FMT, DECODE, DOT, READ_ALL)
                s = tl.dot(k_a, q_g, acc=s)
                s = tl.dot(k_b, q_h, acc=s)
        if FMT == INT8:
            s = s * step[:, None] + v_log[:, None]
        else:
            s = s * step
        if moved | (start < all_lo) | (start + TILE > all_hi):     # most tiles are seen by every row
            position = reload(seq_lens_ptr + req, COMPILED) - q_len + tile * QT
            s = _hide(s, key, seen, position + tok, CAUSAL, WINDOW)
        # m is not the maximum but at most HEADROOM below it: fp16 holds weights up to 2**15, and moving m costs a
        # reduction across warps and a pass over the accumulator.
        above = tl.max(s - m[None, :], 1)                          # [TILE]
        if tl.max(above, 0) > HEADROOM:
            m, fade = _fade(s, m)
            l = l * fade[None, None, :]
            acc_a = acc_a * fade[None, :]
            acc_b = acc_b * fade[None, :]
            if PARTS == 2:
                acc_c = acc_c * fade[None, :]
                acc_d = acc_d * fade[None, :]
        p, l = _weigh(s, m, l, v_log, TILE, FMT, MMA, DOT)
        v_row = data + base + off[None, :] + VALUE_OFFSET // 2                                        # [1, TILE]
        v_a, v_b = value_units(v_row, seen, 0, PART, FMT, DECODE, DOT, READ_ALL)
        acc_a = tl.dot(v_a, p, acc=acc_a)                          # [PART, ROWS] fp32
        acc_b = tl.dot(v_b, p, acc=acc_b)
        if PARTS == 2:
            v_a, v_b = value_units(v_row, seen, PART, PART, FMT, DECODE, DOT, READ_ALL)
            acc_c = tl.dot(v_a, p, acc=acc_c)
            acc_d = tl.dot(v_b, p, acc=acc_d)
        block = next_block

    o_base = out_ptr + (q0 + tile * QT).to(tl.int64) * stride_ot + head * G * stride_oh
    to, factor = _where_to(m, l, out_mul, o_base + tok * stride_ot + (row % G) * stride_oh,
                           part_ptr + part.to(tl.int64) * D, part_ml_ptr + part * 2, ok, DIRECT)
    _put(acc_a, acc_b, to, factor, ok)
    if PARTS == 2:
        _put(acc_c, acc_d, to + 2 * PART, factor, ok)
