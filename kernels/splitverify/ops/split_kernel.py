# SPDX-License-Identifier: Apache-2.0
"""The device code of K1 and K3: attention of a few query tokens over one segment of a paged KV range, and the combine.

Symbols: R requests, T query tokens in all, Hq query heads, Hkv KV heads, G = Hq / Hkv, D head size, N block size,
S segments. A *row* is one (query token, head of the group); BM rows form the matrix-unit tile, rows beyond
``q_len * G`` are padding. TILE keys are taken at a time.

Scores are kept in base 2. With int8 scales the weight that multiplies the int8 V row is ``p * v_scale``; instead of
multiplying, log2(v_scale) is added to the score, so that the running maximum also bounds the weight and it always fits
fp16; the denominator gets the weight divided by v_scale again.
"""

import triton
import triton.language as tl

from splitverify.ops.decode import NATIVE, FP8_SHIFT, e4m3_to_fp16, int8_to_fp16

# tl.constexpr copies of splitverify.layout's numbers: a kernel may not read plain globals.
FP8 = tl.constexpr(1)
INT8 = tl.constexpr(2)
NEVER = tl.constexpr(1 << 30)  # a key position that no query sees


@triton.jit
def _tile_of(key, TILE: tl.constexpr, BLOCK: tl.constexpr):
    """The index of the tile that holds ``key``. Tiles do not cross pages: a page's last one may be part empty. Pages
    smaller than a tile are the exception; there a tile spans several."""
    if BLOCK >= TILE:
        return (key // BLOCK) * ((BLOCK + TILE - 1) // TILE) + (key % BLOCK) // TILE
    else:
        return key // TILE


@triton.jit
def _column(D: tl.constexpr, FMT: tl.constexpr):
    """[D]: which element of a row each operand column holds; see ``_spread``."""
    c = tl.arange(0, D)
    if FMT > 0:
        c = tl.max_contiguous(tl.multiple_of((c % (D // 2)) // 8 * 16 + c // (D // 2) * 8 + c % 8, [8]), [8])
    return c


@triton.jit
def _spread(x, TILE: tl.constexpr, D: tl.constexpr):
    """Reorder the columns of decoded bytes [TILE, D]: first the even groups of eight, then the odd ones.

    A thread loads 16 bytes and decodes them to 32. Written side by side, eight threads would use half of the shared
    memory banks twice; spread, each thread writes 16 bytes next to its neighbour's. The order of a row does not matter
    to a dot product as long as q has the same; the output's columns are put back where they are stored.
    """
    return tl.reshape(tl.permute(tl.reshape(x, (TILE, D // 16, 2, 8)), (0, 2, 1, 3)), (TILE, D))


@triton.jit
def _page_of(bt_row, t, last_block, TILE: tl.constexpr, BLOCK: tl.constexpr, COMPILED: tl.constexpr):
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
def _tile_keys(bt_row, block, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN: tl.constexpr,
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
def _load_q(q_base, tok, head_of_group, ok, stride_qt, stride_qh, D: tl.constexpr, FMT: tl.constexpr,
            INT8_QK: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr):
    """Rows of q [BM, D] as operand. With INT8_QK two int8 operands and a factor [BM]: q = (254 hi + lo) * factor, where
    hi is q rounded to 127 steps of its row's maximum and lo the rest in steps 254 times finer."""
    d = tl.arange(0, D) if INT8_QK else _column(D, FMT)
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


@triton.jit
def _load_keys(data, scales, bt_row, block, t, lo, hi, key_mul, last_block, stride_block, scale_stride_block,
               STRIDE_TOKEN: tl.constexpr, VALUE_OFFSET: tl.constexpr, SCALE_STRIDE_TOKEN: tl.constexpr,
               VALUE_SCALE_OFFSET: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr,
               ALIGN: tl.constexpr, FMT: tl.constexpr, DECODE: tl.constexpr, INT8_QK: tl.constexpr,
               MMA: tl.constexpr, DOT: tl.constexpr):
    """K and V of tile ``t`` as operands [TILE, D], the factor of its scores, log2 and inverse of its V scales [TILE],
    and the positions of its keys."""
    d = tl.arange(0, D)
    key, base, off, s_base, s_off = _tile_keys(bt_row, block, t, last_block, stride_block, scale_stride_block, STRIDE_TOKEN,
                                               SCALE_STRIDE_TOKEN, TILE, BLOCK, ALIGN)
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
        v_log = tl.sum(tl.log2(vs), 1)
        v_inv = tl.sum(1.0 / vs, 1)
        if not INT8_QK:
            k = _spread(int8_to_fp16(k, DECODE), TILE, D).to(DOT)
        v = _spread(int8_to_fp16(v, DECODE), TILE, D).to(DOT)
    elif FMT == FP8:
        k = _spread(e4m3_to_fp16(k, DECODE), TILE, D).to(DOT)
        v = _spread(e4m3_to_fp16(v, DECODE), TILE, D).to(DOT)
    else:
        k = k.to(MMA).to(DOT)
        v = v.to(MMA).to(DOT)
    return k, v, key_mul, v_log, v_inv, key


# A wider block table or another slice of the metadata must not compile again in the first request that brings it.
@triton.jit(do_not_specialize=["stride_bt", "segments", "query_tiles"],
            do_not_specialize_on_alignment=["block_table_ptr", "seq_lens_ptr", "query_start_ptr"])
def split_attention(
        q_ptr, data_ptr, scales_ptr, k_scale_ptr, v_scale_ptr, block_table_ptr, seq_lens_ptr, query_start_ptr,
        part_ptr, part_ml_ptr, out_ptr, score_scale, stride_qt, stride_qh, stride_ot, stride_oh, stride_block: tl.int64,
        scale_stride_block: tl.int64, stride_bt, segments, query_tiles, STRIDE_TOKEN: tl.constexpr, STRIDE_HEAD: tl.constexpr, VALUE_OFFSET: tl.constexpr,
        SCALE_STRIDE_TOKEN: tl.constexpr, SCALE_STRIDE_HEAD: tl.constexpr, KEY_SCALE_OFFSET: tl.constexpr,
        VALUE_SCALE_OFFSET: tl.constexpr, HQ: tl.constexpr, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
        ROWS: tl.constexpr, ROWS2: tl.constexpr, QT: tl.constexpr, TILE: tl.constexpr, ALIGN: tl.constexpr, FMT: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr,
        DECODE: tl.constexpr, INT8_QK: tl.constexpr, STAGES: tl.constexpr, MMA: tl.constexpr, DOT: tl.constexpr,
        COMPILED: tl.constexpr, DIRECT: tl.constexpr):
    """Program (segment, KV head, request * query_tiles + query tile): partial result of QT query tokens over one segment.

    Writes, per (token, head, segment), acc[D] (weights applied, not normalised), m and l as fp32.
    An empty segment writes m = -inf, l = 0 and leaves acc alone. DIRECT is for one segment: the result goes to ``out``.
    """
    seg = tl.program_id(0)
    head = tl.program_id(1)
    req = tl.program_id(2) // query_tiles
    tile = tl.program_id(2) % query_tiles
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
    t_lo = _tile_of(lo, TILE, BLOCK)
    tiles = 0
    if hi > lo:
        tiles = _tile_of(hi - 1, TILE, BLOCK) + 1 - t_lo
    # The split depends on the visible range alone; segments differ by one tile at most.
    begin = t_lo + tiles * seg // segments
    end = t_lo + tiles * (seg + 1) // segments

    row = tl.arange(0, ROWS)
    tok = row // G
    ok = tok < count
    part = ((q0 + tile * QT + tok) * HQ + head * G + row % G) * segments + seg     # [ROWS], < 2**31 by the scratch size
    if ROWS2 > 0:
        row2 = ROWS + tl.arange(0, ROWS2)
        tok2 = row2 // G
        ok2 = tok2 < count
        part2 = ((q0 + tile * QT + tok2) * HQ + head * G + row2 % G) * segments + seg
    if begin >= end:
        tl.store(part_ml_ptr + part * 2, tl.full([ROWS], float("-inf"), tl.float32), mask=ok)
        tl.store(part_ml_ptr + part * 2 + 1, tl.zeros([ROWS], tl.float32), mask=ok)
        if ROWS2 > 0:
            tl.store(part_ml_ptr + part2 * 2, tl.full([ROWS2], float("-inf"), tl.float32), mask=ok2)
            tl.store(part_ml_ptr + part2 * 2 + 1, tl.zeros([ROWS2], tl.float32), mask=ok2)
        return

    d = _column(D, FMT)
    q_base = q_ptr + (q0 + tile * QT).to(tl.int64) * stride_qt + head * G * stride_qh
    q, q_lo, q_step = _load_q(q_base, tok, row % G, ok, stride_qt, stride_qh, D, FMT, INT8_QK, MMA, DOT)
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
        q2, q2_lo, q2_step = _load_q(q_base, tok2, row2 % G, ok2, stride_qt, stride_qh, D, FMT, INT8_QK, MMA, DOT)
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

    # The page of the next tile is looked up one step early: loads that depend on a load of the same step are not
    # prefetched.
    block = _page_of(bt_row, begin, last_block, TILE, BLOCK, COMPILED)
    for t in tl.range(begin, end, num_stages=STAGES):
        next_block = _page_of(bt_row, t + 1, last_block, TILE, BLOCK, COMPILED)
        k, v, mul, v_log, v_inv, key = _load_keys(
            data, scales, bt_row, block, t, lo, hi, key_mul, last_block, stride_block, scale_stride_block, STRIDE_TOKEN,
            VALUE_OFFSET, SCALE_STRIDE_TOKEN, VALUE_SCALE_OFFSET, D, TILE, BLOCK, ALIGN, FMT, DECODE, INT8_QK, MMA,
            DOT)
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


@triton.jit(do_not_specialize=["requests", "segments"], do_not_specialize_on_alignment=["query_start_ptr"])
def combine(part_ptr, part_ml_ptr, out_ptr, query_start_ptr, requests, segments, stride_ot, stride_oh,
            HQ: tl.constexpr, D: tl.constexpr, SEGMENTS_POW2: tl.constexpr, COLUMNS: tl.constexpr,
            CHUNK: tl.constexpr):
    """Program (token, head, column group): merge the segments of COLUMNS elements of one row."""
    tok = tl.program_id(0)
    head = tl.program_id(1)
    if tok >= tl.load(query_start_ptr + requests):                 # padding of a captured batch
        return
    base = (tok * HQ + head) * segments
    seg = tl.arange(0, SEGMENTS_POW2)
    m = tl.load(part_ml_ptr + (base + seg) * 2, mask=seg < segments, other=float("-inf"))      # [S]
    l = tl.load(part_ml_ptr + (base + seg) * 2 + 1, mask=seg < segments, other=0.0)
    top = tl.max(m, 0)
    top = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(l * tl.exp2(m - top), 0)
    d = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    out = tl.zeros([CHUNK, COLUMNS], tl.float32)
    for start in range(0, segments, CHUNK):
        part = start + tl.arange(0, CHUNK)
        m_part = tl.load(part_ml_ptr + (base + part) * 2, mask=part < segments, other=float("-inf"))  # [CHUNK]
        l_part = tl.load(part_ml_ptr + (base + part) * 2 + 1, mask=part < segments, other=0.0)
        # An empty segment has l = 0; its acc was never written and may be NaN, so it is not loaded.
        acc = tl.load(part_ptr + (base + part)[:, None].to(tl.int64) * D + d[None, :], mask=(l_part > 0)[:, None], other=0.0)
        out += acc * tl.exp2(m_part - top)[:, None]
    row = tl.sum(out, 0) / tl.where(total > 0, total, 1.0)
    tl.store(out_ptr + tok.to(tl.int64) * stride_ot + head * stride_oh + d, row.to(out_ptr.dtype.element_ty))
