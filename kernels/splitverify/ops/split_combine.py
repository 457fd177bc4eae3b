# SPDX-License-Identifier: Apache-2.0
"""Device code: the segments' partial results of each row become its result. Symbols as in ``split_kernel``."""

import triton
import triton.language as tl


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
        acc = tl.load(part_ptr + (base + part)[:, None].to(tl.int64) * D + d[None, :], mask=(l_part > 0)[:, None],
                      other=0.0)
        out += acc * tl.exp2(m_part - top)[:, None]
    row = tl.sum(out, 0) / tl.where(total > 0, total, 1.0)
    tl.store(out_ptr + tok.to(tl.int64) * stride_ot + head * stride_oh + d, row.to(out_ptr.dtype.element_ty))
