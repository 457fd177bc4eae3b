# SPDX-License-Identifier: Apache-2.0
"""The device code of K4 and K5: causal attention of prefill chunks and verify rows over a paged KV range.

Symbols: R requests, T query tokens in all, Hq query heads, Hkv KV heads, G = Hq / Hkv, D head size, N block size. A *row*
is one (query token, head of the group); a program takes BM rows, that is QT = BM // G tokens of one request with all
heads that share a KV head, over all keys that they see, TILE keys at a time. So K and V are read once for G heads, and a
verify row of a few tokens is one program.

Scores are kept in base 2. With int8 scales log2(v_scale) is added to the score, see
:mod:`splitverify.ops.split_kernel`: the weight of an int8 V row is then at most 1 and fits fp16.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import FP8_SHIFT, NATIVE, e4m3_to_fp16, int8_to_fp16
from splitverify.ops.prefill_load import (
    ONE_TERM,
    PLAIN,
    TWO_TERMS,
    load_q,
    pages_of,
    rows_of,
    sampled_mean,
    small_keys,
)
from splitverify.ops.split_load import column, spread

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)


@triton.jit
def _request_of(query_start_ptr, tile, requests, QT: tl.constexpr):
    """Which request a query tile belongs to: the last one whose tiles begin at or before it.

    Request r's tiles begin at ``query_start[r] // QT + r``, which leaves room for a part-filled tile of each before it.
    """
    low = 0
    high = requests
    while high - low > 1:
        middle = (low + high) // 2
        if tl.load(query_start_ptr + middle) // QT + middle <= tile:
            low = middle
        else:
            high = middle
    return low


@triton.jit
def _step(q, q_lo, q_step, m, l, acc, data, scales, bt_row, one, two, t, hi, see, key_mul, mean, d, last_block,
          stride_block, scale_stride_block, STRIDE_TOKEN: tl.constexpr, VALUE_OFFSET: tl.constexpr,
          SCALE_STRIDE_TOKEN: tl.constexpr, VALUE_SCALE_OFFSET: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
          ALIGN: tl.constexpr, FMT: tl.constexpr, QK: tl.constexpr, DECODE: tl.constexpr, SUM16: tl.constexpr,
          SPREAD: tl.constexpr, LAZY: tl.constexpr, MASK: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr,
          COMPILED: tl.constexpr):
    """One online-softmax step over tile ``t``. With MASK, row i sees keys below ``see[i]`` only.

    With LAZY > 0, the maximum that weights are relative to follows only when some row's has grown by more than that many
    powers of two: most tiles then leave the sum as it is. Weights are at most 2**LAZY, and no less exact for it.
    """
    D: tl.constexpr = acc.shape[1]
    key = t * TILE + tl.arange(0, TILE)
    off, s_off = rows_of(bt_row, key, one, two, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN,
                         SCALE_STRIDE_TOKEN, TILE, BLOCK, ALIGN)
    row = data + off[:, None] + d[None, :]                         # [TILE, D]
    if MASK:
        ok = key[:, None] < hi                                     # slots from hi on may hold NaN: never read
        k = tl.load(row, mask=ok, other=0)
        v = tl.load(row + VALUE_OFFSET, mask=ok, other=0)          # K's aligned base plus a constant keeps loads wide
    else:
        k = tl.load(row)
        v = tl.load(row + VALUE_OFFSET)
    if FMT == INT8:
        # As a column, reduced over its axis of one: that keeps the scales out of the layout of the scores.
        s_row = scales + s_off[:, None] + tl.arange(0, 1)[None, :]
        if MASK:
            ks = tl.load(s_row, mask=ok, other=1.0)
            vs = tl.load(s_row + VALUE_SCALE_OFFSET, mask=ok, other=1.0)
        else:
            ks = tl.load(s_row)
            vs = tl.load(s_row + VALUE_SCALE_OFFSET)
        vs = tl.maximum(vs, 1e-30)                                 # log2 of a zero scale would be -inf
        k_mul = tl.sum(key_mul * ks, 1)
        v_log = tl.sum(tl.log2(vs), 1)
        v_inv = tl.sum(1.0 / vs, 1)
        if QK == PLAIN:
            k = int8_to_fp16(k, DECODE).to(DOT)
        v = int8_to_fp16(v, DECODE)
    else:
        if QK == PLAIN:
            if FMT == FP8:
                k = e4m3_to_fp16(k, DECODE)
            k = k.to(MMA).to(DOT)
        else:
            k, k_step = small_keys(k, mean, FMT, DECODE)
            k_mul = k_step * key_mul
        if FMT == FP8:
            v = e4m3_to_fp16(v, DECODE)
        elif SUM16:
            # A tile of them, each weighted by at most 2**LAZY, stays below fp16's limit.
            LIMIT: tl.constexpr = 64000.0 / (TILE * 2 ** LAZY)
            v = tl.minimum(tl.maximum(v.to(tl.float32), -LIMIT), LIMIT)
    v = v.to(MMA).to(DOT)
    if SPREAD:
        v = spread(v, TILE, D)

    if QK == PLAIN:
        s = tl.dot(q, tl.trans(k))
        if FMT == INT8:
            s = s * k_mul[None, :] + v_log[None, :]
        else:
            s = s * key_mul
    else:
        i = tl.dot(q, tl.trans(k), out_dtype=tl.int32)
        if QK == TWO_TERMS:
            # |254 hi.k + lo.k| <= 255 * 127 * 128 * D < 2**31 for D <= 256: the integer sum is exact.
            i = tl.dot(q_lo, tl.trans(k), acc=i * 254, out_dtype=tl.int32)
        s = i.to(tl.float32) * q_step[:, None]
        if FMT == INT8:
            s = s * k_mul[None, :] + v_log[None, :]
        else:
            s = s * k_mul[None, :]
    if MASK:
        s = tl.where(key[None, :] < see[:, None], s, float("-inf"))
    m_new = tl.maximum(m, tl.max(s, 1))
    if LAZY > 0:
        if tl.max(m_new - m, 0) > LAZY:
            fade = tl.exp2(m - m_new)
            l = l * fade
            acc = acc * fade[:, None]
            m = m_new
        m_sub = m
    else:
        m_sub = m_new
        if MASK:
            m_sub = tl.where(m_new == float("-inf"), 0.0, m_new)   # a row that has seen nothing yet: avoid inf - inf
        fade = tl.exp2(m - m_sub)
        l = l * fade
        acc = acc * fade[:, None]
        m = m_new
    p = tl.exp2(s - m_sub[:, None])
    if FMT == INT8:
        l += tl.sum(p * v_inv[None, :], 1)
    else:
        l += tl.sum(p, 1)
    if SUM16:
        # fp16 sums within a tile, fp32 sums across tiles: twice the rate on consumer GPUs.
        if COMPILED:
            acc += tl.dot(p.to(MMA), v, out_dtype=tl.float16).to(tl.float32)
        else:
            acc += tl.dot(p.to(MMA).to(DOT), v).to(tl.float16).to(tl.float32)
    else:
        acc = tl.dot(p.to(MMA).to(DOT), v, acc=acc)
    return m, l, acc


# A wider block table or another slice of the metadata must not compile again in the first request that brings it.
@triton.jit(do_not_specialize=["stride_bt", "requests", "longer_than", "within"],
            do_not_specialize_on_alignment=["block_table_ptr", "seq_lens_ptr", "query_start_ptr"])
def prefill(
        q_ptr, data_ptr, scales_ptr, k_scale_ptr, v_scale_ptr, block_table_ptr, seq_lens_ptr, query_start_ptr, out_ptr,
        score_scale, stride_qt, stride_qh, stride_ot, stride_oh, stride_block: tl.int64, scale_stride_block: tl.int64,
        stride_bt, requests, longer_than, within, STRIDE_TOKEN: tl.constexpr, STRIDE_HEAD: tl.constexpr, VALUE_OFFSET: tl.constexpr,
        SCALE_STRIDE_TOKEN: tl.constexpr, SCALE_STRIDE_HEAD: tl.constexpr, KEY_SCALE_OFFSET: tl.constexpr,
        VALUE_SCALE_OFFSET: tl.constexpr, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
        QT: tl.constexpr, TILE: tl.constexpr, ALIGN: tl.constexpr, FMT: tl.constexpr, QK: tl.constexpr,
        DECODE: tl.constexpr, SUM16: tl.constexpr, SPREAD: tl.constexpr, LAZY: tl.constexpr, STAGES: tl.constexpr,
        MMA: tl.constexpr, DOT: tl.constexpr, COMPILED: tl.constexpr):
    """Program (query tile, KV head): the result of QT query tokens. Requests of ``longer_than`` tokens or fewer are
    left alone where all their tokens come before ``within``. The last tiles see the most keys, so they come first."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    head = tl.program_id(1)
    req = _request_of(query_start_ptr, tile, requests, QT)
    q0 = tl.load(query_start_ptr + req)
    q_len = tl.load(query_start_ptr + req + 1) - q0
    start = (tile - (q0 // QT + req)) * QT                         # this tile's first token within the request
    if start >= q_len:
        return
    if (q_len <= longer_than) & (q0 + q_len <= within):
        return
    seq_len = tl.load(seq_lens_ptr + req)
    first = seq_len - q_len + start                                # its KV position
    count = tl.minimum(q_len - start, QT)
    hi = first + count                                             # keys that some row sees: [0, hi)

    row = tl.arange(0, ROWS)
    tok = row // G
    ok = tok < count
    d = tl.arange(0, D)
    q_base = q_ptr + (q0 + start).to(tl.int64) * stride_qt + head * G * stride_qh
    # Where V's columns are spread and the scores are not integer, K is not spread: q stays in order.
    q, q_lo, q_step = load_q(q_base, tok, row % G, ok, stride_qt, stride_qh, d, QK, FMT, MMA, DOT)
    # A lazy maximum starts so low that the first key replaces it, and finite, so that no row needs a special case.
    m = tl.full([ROWS], -1e30 if LAZY > 0 else float("-inf"), tl.float32)
    l = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, D], tl.float32)
    see = first + tok + 1

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
    last_block = tl.maximum(hi - 1, 0) // BLOCK                    # no keys at all: nothing is read, but looked up
    mean = tl.zeros([D], tl.float32)
    if FMT != INT8 and QK == ONE_TERM:
        if seq_len > 0:
            mean = sampled_mean(data, bt_row, seq_len, tl.maximum(seq_len - 1, 0) // BLOCK, stride_block, d,
                                STRIDE_TOKEN, BLOCK, FMT, DECODE)

    # Tiles that every row sees whole, then those with an edge.
    whole = tl.maximum(first + 1, 0) // TILE
    one, two = pages_of(bt_row, 0, last_block, TILE, BLOCK, COMPILED)
    for t in tl.range(0, whole, num_stages=STAGES):
        next_one, next_two = pages_of(bt_row, t + 1, last_block, TILE, BLOCK, COMPILED)
        m, l, acc = _step(q, q_lo, q_step, m, l, acc, data, scales, bt_row, one, two, t, hi, see, key_mul, mean, d,
                          last_block, stride_block, scale_stride_block, STRIDE_TOKEN, VALUE_OFFSET, SCALE_STRIDE_TOKEN,
                          VALUE_SCALE_OFFSET, TILE, BLOCK, ALIGN, FMT, QK, DECODE, SUM16, SPREAD, LAZY, False, MMA, DOT,
                          COMPILED)
        one = next_one
        two = next_two
    for t in tl.range(whole, (hi + TILE - 1) // TILE, num_stages=1):
        one, two = pages_of(bt_row, t, last_block, TILE, BLOCK, COMPILED)
        m, l, acc = _step(q, q_lo, q_step, m, l, acc, data, scales, bt_row, one, two, t, hi, see, key_mul, mean, d,
                          last_block, stride_block, scale_stride_block, STRIDE_TOKEN, VALUE_OFFSET, SCALE_STRIDE_TOKEN,
                          VALUE_SCALE_OFFSET, TILE, BLOCK, ALIGN, FMT, QK, DECODE, SUM16, SPREAD, LAZY, True, MMA, DOT,
                          COMPILED)

    o_base = out_ptr + (q0 + start).to(tl.int64) * stride_ot + head * G * stride_oh
    acc = acc * (out_mul / tl.where(l > 0, l, 1.0))[:, None]
    o_d = d
    if SPREAD:
        o_d = column(D, FMT)
    tl.store(o_base + tok[:, None] * stride_ot + (row % G)[:, None] * stride_oh + o_d[None, :],
             acc.to(out_ptr.dtype.element_ty), mask=ok[:, None])
