# SPDX-License-Identifier: Apache-2.0
"""From cache bytes to matrix-unit operands.

``DECODE`` picks how: ``plain`` is ordinary Triton and runs anywhere, the interpreter included; ``packed`` handles four
bytes in a few integer instructions (PTX, so compiled code only); ``native`` lets the hardware convert e4m3 (sm_89 on).
All three give the same bits. An fp8 value comes out times 2**-8 from the first two (see :data:`FP8_SHIFT`), so that the
conversion is a shift of bits; the factor is folded into the scales.
"""

import triton
import triton.language as tl

PLAIN = tl.constexpr(0)
PACKED = tl.constexpr(1)
NATIVE = tl.constexpr(2)

FP8_SHIFT = tl.constexpr(256.0)
"""e4m3 has exponent bias 7 and fp16 has 15: the same exponent field means 2**-8 of the value."""

# b ^ 0x80 is the byte plus 128; under an upper byte of 0x64 that is the fp16 number 1024 + (x + 128). 0x6480 is 1152.
_INT8_TO_FP16 = tl.constexpr("""{
    .reg .b32 u, lo, hi;
    xor.b32 u, $2, 0x80808080;
    prmt.b32 lo, u, 0x64646464, 0x4140;
    prmt.b32 hi, u, 0x64646464, 0x4342;
    mov.b32 u, 0x64806480;
    sub.f16x2 $0, lo, u;
    sub.f16x2 $1, hi, u;
}""")

# A byte into the upper half of 16 bits, its seven low bits one place down, its sign where it is. 0xEA is (a & b) | c.
_E4M3_TO_FP16 = tl.constexpr("""{
    .reg .b32 lo, hi, t;
    prmt.b32 lo, $2, 0, 0x1404;
    prmt.b32 hi, $2, 0, 0x3424;
    shr.u32 t, lo, 1;
    and.b32 t, t, 0x3f803f80;
    lop3.b32 $0, lo, 0x80008000, t, 0xEA;
    shr.u32 t, hi, 1;
    and.b32 t, t, 0x3f803f80;
    lop3.b32 $1, hi, 0x80008000, t, 0xEA;
}""")


@triton.jit
def int8_to_fp16(x, DECODE: tl.constexpr):
    """int8 to fp16, exact."""
    if DECODE == PACKED:
        return tl.inline_asm_elementwise(_INT8_TO_FP16, "=r,=r,r", [x], dtype=tl.float16, is_pure=True, pack=4)
    else:
        return x.to(tl.float16)


@triton.jit
def e4m3_to_fp16(x, DECODE: tl.constexpr):
    """An e4m3 byte (uint8) to fp16: the value for ``native``, otherwise 2**-8 of it. Exact; NaN codes do not occur."""
    if DECODE == NATIVE:
        return x.to(tl.float8e4nv, bitcast=True).to(tl.float16)
    elif DECODE == PACKED:
        return tl.inline_asm_elementwise(_E4M3_TO_FP16, "=r,=r,r", [x], dtype=tl.float16, is_pure=True, pack=4)
    else:
        u = x.to(tl.uint16)
        return (((u & 0x80) << 8) | ((u & 0x7F) << 7)).to(tl.float16, bitcast=True)


# Two units of 16 bits in one register: bytes 0 and 2 are the lower ones, 1 and 3 the upper ones. (b ^ 0x80) under 0x64 is
# 1152 + x, as above; 0x6A is (a & b) ^ c.
_INT8_UNITS = tl.constexpr("""{
    .reg .b32 lo, hi, bias;
    lop3.b32 lo, $2, 0x00ff00ff, 0x64806480, 0x6A;
    shr.u32 hi, $2, 8;
    lop3.b32 hi, hi, 0x00ff00ff, 0x64806480, 0x6A;
    mov.b32 bias, 0x64806480;
    sub.f16x2 $0, lo, bias;
    sub.f16x2 $1, hi, bias;
}""")

_E4M3_UNITS = tl.constexpr("""{
    .reg .b32 s, t;
    shl.b32 s, $2, 8;
    shl.b32 t, $2, 7;
    and.b32 t, t, 0x3f803f80;
    lop3.b32 $0, s, 0x80008000, t, 0xEA;
    shr.u32 t, $2, 1;
    and.b32 t, t, 0x3f803f80;
    lop3.b32 $1, $2, 0x80008000, t, 0xEA;
}""")

_E4M3_UNITS_NATIVE = tl.constexpr("""{
    .reg .b16 a, b;
    .reg .b32 x, y;
    mov.b32 {a, b}, $2;
    cvt.rn.f16x2.e4m3x2 x, a;
    cvt.rn.f16x2.e4m3x2 y, b;
    prmt.b32 $0, x, y, 0x5410;
    prmt.b32 $1, x, y, 0x7632;
}""")


@triton.jit
def units_of_int8(x, DECODE: tl.constexpr):
    """int16 units of two int8 to two fp16 tensors, exact: the lower bytes and the upper ones."""
    if DECODE == PLAIN:
        return ((x << 8) >> 8).to(tl.float16), (x >> 8).to(tl.float16)
    else:
        return tl.inline_asm_elementwise(_INT8_UNITS, "=r,=r,r", [x], dtype=(tl.float16, tl.float16), is_pure=True,
                                         pack=2)


@triton.jit
def units_of_e4m3(x, DECODE: tl.constexpr):
    """int16 units of two e4m3 bytes to two fp16 tensors; values and factor as :func:`e4m3_to_fp16`."""
    if DECODE == NATIVE:
        return tl.inline_asm_elementwise(_E4M3_UNITS_NATIVE, "=r,=r,r", [x], dtype=(tl.float16, tl.float16),
                                         is_pure=True, pack=2)
    elif DECODE == PACKED:
        return tl.inline_asm_elementwise(_E4M3_UNITS, "=r,=r,r", [x], dtype=(tl.float16, tl.float16), is_pure=True,
                                         pack=2)
    else:
        u = x.to(tl.uint16, bitcast=True)
        low = (((u & 0x80) << 8) | ((u & 0x7F) << 7)).to(tl.float16, bitcast=True)
        high = ((u & 0x8000) | ((u & 0x7F00) >> 1)).to(tl.float16, bitcast=True)
        return low, high
