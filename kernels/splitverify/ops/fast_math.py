# SPDX-License-Identifier: Apache-2.0
"""Device code: mathematics in fewer instructions than triton takes."""

import triton
import triton.language as tl


@triton.jit
def log2(x, COMPILED: tl.constexpr):
    """log2 of a positive normal number, to about 2**-22. One instruction; triton's own is a polynomial of twenty, one
    waiting for the other. The interpreter takes triton's."""
    if COMPILED:
        return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        return tl.log2(x)
