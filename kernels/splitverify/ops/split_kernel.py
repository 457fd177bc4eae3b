# SPDX-License-Identifier: Apache-2.0
"""The device code of K1 and K3: attention of a few query tokens over one segment of a paged KV range.

Symbols: R requests, T query tokens in all, Hq query heads, Hkv KV heads, G = Hq / Hkv, D head size, N block size,
S segments. A *row* is one (query token, head of the group); BM rows form the matrix-unit tile, rows beyond
``q_len * G`` are padding. TILE keys are taken at a time.

Scores are kept in base 2. With int8 scales the weight that multiplies the int8 V row is ``p * v_scale``; instead of
multiplying, log2(v_scale) is added to the score, so that the running maximum also bounds the weight and it always fits
fp16; the denominator gets the weight divided by v_scale again.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import FP8_SHIFT, NATIVE
from splitverify.ops.split_load import column, load_keys, load_q, page_of, tile_of

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)


@triton.jit
def _attend(q, q_lo, q_step, k, v, m, l, acc, key_mul, v_log, v_inv, key, see_lo, see_hi, WINDOW: tl.constexpr,
            FMT: tl.constexpr, INT8_QK: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr):
    """One online-softmax step of BM rows over TILE keys; row i sees keys in [see_lo_i, see_hi_i)."""
    if INT8_QK:
        # |254 hi.k + lo.k| <= 255 * 127 * 128 * D < 2**31 for D <= 256: the integer sum is exact.
        i = tl.dot(q, tl.trans(k), out_dtype=tl.int32) * 254
        i = tl.dot(q_lo, tl.trans(k), acc=i, out_dtype=tl.int32)
        s = i.to(tl.float32) * q_step[:, None]
    else:
        s = tl.dot(q, tl.trans(k))                                 # [BM, TILE] fp32
    if FMT == INT8:
        s = s * key_mul[None, :] + v_log[None, :]
    see = key[None, :] < see_hi[:, None]
    if WINDOW > 0:
        see = see & (key[None, :] >= see_lo[:, None])
    s = tl.where(see, s, float("-inf"))
    if FMT == INT8:
        m_new = tl.maximum(m, tl.max(s, 1))
    else:
        m_new = tl.maximum(m, tl.max(s, 1) * key_mul)              # key_mul is one positive number
    m_sub = tl.where(m_new == float("-inf"), 0.0, m_new)           # a row that has seen nothing yet: avoid inf - inf
    fade = tl.exp2(m - m_sub)
    if FMT == INT8:
        p = tl.exp2(s - m_sub[:, None])
        l = l * fade + tl.sum(p * v_inv[None, :], 1)
    else:
        p = tl.exp2(s * key_mul - m_sub[:, None])
        l = l * fade + tl.sum(p, 1)
    acc = tl.dot(p.to(MMA).to(DOT), v, acc=acc * fade[:, None])    # [BM, D] fp32
    return m_new, l, acc


# A wider block table or another slice of the metadata must not compile again in the first request that brings it.
@triton.jit(do_not_specialize=["stride_bt", "segments", "query_tiles"],
            do_not_specialize_on_alignment=["block_table_ptr", "seq_lens_ptr", "query_start_ptr"])
def split_attention(
        q_ptr, data_ptr, scales_ptr, k_scale_ptr, v_scale_ptr, block_table_ptr, seq_lens_ptr, query_start_ptr,
        part_ptr, part_ml_ptr, out_ptr, score_scale, stride_qt, stride_qh, stride_ot, stride_oh, stride_block: tl.int64,
        scale_stride_block: tl.int64, stride_bt, segments, query_tiles, STRIDE_TOKEN: tl.constexpr,
        STRIDE_HEAD: tl.constexpr, VALUE_OFFSET: tl.constexpr,
        SCALE_STRIDE_TOKEN: tl.constexpr, SCALE_STRIDE_HEAD: tl.constexpr, KEY_SCALE_OFFSET: tl.constexpr,
        VALUE_SCALE_OFFSET: tl.constexpr, HQ: tl.constexpr, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
        ROWS: tl.constexpr, ROWS2: tl.constexpr, QT: tl.constexpr, TILE: tl.constexpr, ALIGN: tl.constexpr,
        FMT: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
        DECODE: tl.constexpr, INT8_QK: tl.constexpr, STAGES: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr,
        COMPILED: tl.constexpr, DIRECT: tl.constexpr):
    """Program (segment * query_tiles + query tile, KV head, request): partial result of QT query tokens over one segment.

    Writes, per (token, head, segment), acc[D] (weights applied, not normalised), m and l as fp32.
    An empty segment writes m = -inf, l = 0 and leaves acc alone. DIRECT is for one segment: the result goes to ``out``.
    """
    # Query tiles of one segment read the same keys: next to each other, the second finds them in L2.
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
    # Keys that some row of this tile sees: [lo, hi).
    lo = 0
    hi = seq_len
    if CAUSAL:
        hi = first + count
    if WINDOW > 0:
        lo = tl.maximum(0, first - WINDOW + 1)
        if not CAUSAL:
            hi = tl.minimum(hi, first + count - 1 + WINDOW)
    t_lo = tile_of(lo, TILE, BLOCK)
    tiles = 0
    if hi > lo:
        tiles = tile_of(hi - 1, TILE, BLOCK) + 1 - t_lo
    # The split depends on the visible range alone; segments differ by one tile at most.
    begin = t_lo + tiles * seg // segments
    end = t_lo + tiles * (seg + 1) // segments

    row = tl.arange(0, ROWS)
    tok = row // G
    ok = tok < count
    part = ((q0 + tile * QT + tok) * HQ + head * G + row % G) * segments + seg     # [ROWS], < 2**31: scratch size
    if ROWS2 > 0:
        row2 = ROWS + tl.arange(0, ROWS2)
        tok2 = row2 // G
        ok2 = tok2 < count
        part2 = ((q0 + tile * QT + tok2) * HQ + head * G + row2 % G) * segments + seg
    if not DIRECT:                                                 # a direct result of no keys is zero, as any other
        if begin >= end:
            tl.store(part_ml_ptr + part * 2, tl.full([ROWS], float("-inf"), tl.float32), mask=ok)
            tl.store(part_ml_ptr + part * 2 + 1, tl.zeros([ROWS], tl.float32), mask=ok)
            if ROWS2 > 0:
                tl.store(part_ml_ptr + part2 * 2, tl.full([ROWS2], float("-inf"), tl.float32), mask=ok2)
                tl.store(part_ml_ptr + part2 * 2 + 1, tl.zeros([ROWS2], tl.float32), mask=ok2)
            return

    d = column(D, FMT)
    q_base = q_ptr + (q0 + tile * QT).to(tl.int64) * stride_qt + head * G * stride_qh
    q, q_lo, q_step = load_q(q_base, tok, row % G, ok, stride_qt, stride_qh, D, FMT, INT8_QK, MMA, DOT)
    m = tl.full([ROWS], float("-inf"), tl.float32)
    l = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, D], tl.float32)
    see_hi = tl.full([ROWS], 0, tl.int32) + hi
    see_lo = tl.full([ROWS], 0, tl.int32) + lo
    if CAUSAL:
        see_hi = tl.minimum(first + tok + 1, hi)
    if WINDOW > 0:
        see_lo = tl.maximum(first + tok - WINDOW + 1, 0)
        if not CAUSAL:
            see_hi = tl.minimum(first + tok + WINDOW, hi)
    if ROWS2 > 0:
        q2, q2_lo, q2_step = load_q(q_base, tok2, row2 % G, ok2, stride_qt, stride_qh, D, FMT, INT8_QK, MMA, DOT)
        m2 = tl.full([ROWS2], float("-inf"), tl.float32)
        l2 = tl.zeros([ROWS2], tl.float32)
        acc2 = tl.zeros([ROWS2, D], tl.float32)
        see_hi2 = tl.full([ROWS2], 0, tl.int32) + hi
        see_lo2 = tl.full([ROWS2], 0, tl.int32) + lo
        if CAUSAL:
            see_hi2 = tl.minimum(first + tok2 + 1, hi)
        if WINDOW > 0:
            see_lo2 = tl.maximum(first + tok2 - WINDOW + 1, 0)
            if not CAUSAL:
                see_hi2 = tl.minimum(first + tok2 + WINDOW, hi)

    key_mul = score_scale
    out_mul = 1.0
    if FMT == FP8:
        shift = 1.0
        if DECODE != NATIVE:
            shift = FP8_SHIFT
        key_mul = key_mul * tl.load(k_scale_ptr) * shift
        out_mul = tl.load(v_scale_ptr) * shift
    data = data_ptr + head * STRIDE_HEAD
    scales = scales_ptr + head * SCALE_STRIDE_HEAD + KEY_SCALE_OFFSET
    bt_row = block_table_ptr + req.to(tl.int64) * stride_bt
    last_block = (hi - 1) // BLOCK
    if DIRECT:
        last_block = tl.maximum(last_block, 0)                     # no keys at all: nothing is read, but looked up

    # The page of the next tile is looked up one step early: loads that depend on a load of the same step are not
    # prefetched.
    block = page_of(bt_row, begin, last_block, TILE, BLOCK, COMPILED)
    for t in tl.range(begin, end, num_stages=STAGES):
        next_block = page_of(bt_row, t + 1, last_block, TILE, BLOCK, COMPILED)
        k, v, mul, v_log, v_inv, key = load_keys(
            data, scales, bt_row, block, t, lo, hi, key_mul, last_block, stride_block, scale_stride_block, STRIDE_TOKEN,
            VALUE_OFFSET, SCALE_STRIDE_TOKEN, VALUE_SCALE_OFFSET, D, TILE, BLOCK, ALIGN, FMT, DECODE, INT8_QK, MMA,
            DOT, COMPILED)
        m, l, acc = _attend(q, q_lo, q_step, k, v, m, l, acc, mul, v_log, v_inv, key, see_lo, see_hi, WINDOW, FMT,
                            INT8_QK, MMA, DOT)
        if ROWS2 > 0:
            m2, l2, acc2 = _attend(q2, q2_lo, q2_step, k, v, m2, l2, acc2, mul, v_log, v_inv, key, see_lo2, see_hi2,
                                   WINDOW, FMT, INT8_QK, MMA, DOT)
        block = next_block

    if DIRECT:
        o_base = out_ptr + (q0 + tile * QT).to(tl.int64) * stride_ot + head * G * stride_oh
        acc = acc * (out_mul / tl.where(l > 0, l, 1.0))[:, None]
        tl.store(o_base + tok[:, None] * stride_ot + (row % G)[:, None] * stride_oh + d[None, :],
                 acc.to(out_ptr.dtype.element_ty), mask=ok[:, None])
        if ROWS2 > 0:
            acc2 = acc2 * (out_mul / tl.where(l2 > 0, l2, 1.0))[:, None]
            tl.store(o_base + tok2[:, None] * stride_ot + (row2 % G)[:, None] * stride_oh + d[None, :],
                     acc2.to(out_ptr.dtype.element_ty), mask=ok2[:, None])
    else:
        tl.store(part_ptr + part[:, None].to(tl.int64) * D + d[None, :], acc * out_mul, mask=ok[:, None])
        tl.store(part_ml_ptr + part * 2, m, mask=ok)
        tl.store(part_ml_ptr + part * 2 + 1, l, mask=ok)
        if ROWS2 > 0:
            tl.store(part_ptr + part2[:, None].to(tl.int64) * D + d[None, :], acc2 * out_mul, mask=ok2[:, None])
            tl.store(part_ml_ptr + part2 * 2, m2, mask=ok2)
            tl.store(part_ml_ptr + part2 * 2 + 1, l2, mask=ok2)
