# SPDX-License-Identifier: Apache-2.0
"""Started by test_compiles.py: reads jobs from standard input, compiles each for argv[1], prints JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from splitverify.crosscompile import Launch, compile_launch
from splitverify.ops.config import KernelConfig


def other(job: dict[str, Any], arch: int) -> dict[str, Any]:
    """Compile the combine or the store kernel."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from splitverify.ops.quantize_store import _quantize_store
    from splitverify.ops.split_combine import combine

    if job["kernel"] == "combine":
        kernel = combine
        types = dict(part_ptr="*fp32", part_ml_ptr="*fp32", out_ptr="*bf16", query_start_ptr="*i32", requests="i32",
                     segments="i32", stride_ot="i32", stride_oh="i32")
        consts = dict(HQ=24, D=256, SEGMENTS_POW2=64, COLUMNS=64, CHUNK=16)
    else:
        kernel = _quantize_store
        element = {"int8": "*i8", "fp8": "*u8", "bf16": "*bf16"}[job["fmt"]]
        types = dict(key_ptr="*bf16", value_ptr="*bf16", data_ptr=element, scales_ptr="*fp32", k_scale_ptr="*fp32",
                     v_scale_ptr="*fp32", slot_ptr="*i64", stride_kt="i32", stride_kh="i32", stride_vt="i32",
                     stride_vh="i32", stride_block="i64", scale_stride_block="i64")
        consts = dict(STRIDE_TOKEN=256, STRIDE_HEAD=864 * 256, VALUE_OFFSET=4 * 864 * 256, SCALE_STRIDE_TOKEN=1,
                      SCALE_STRIDE_HEAD=864, KEY_SCALE_OFFSET=0, VALUE_SCALE_OFFSET=864, D=256, BLOCK=864,
                      FMT={"bf16": 0, "fp8": 1, "int8": 2}[job["fmt"]])
    names = kernel.arg_names
    source = ASTSource(kernel, {n: types.get(n, "constexpr") for n in names},
                       constexprs={(names.index(n),): v for n, v in consts.items()})
    return dict(bytes=len(triton.compile(source, target=GPUTarget("cuda", arch, 32)).asm["cubin"]))


def main() -> None:
    arch = int(sys.argv[1])
    results = []
    for job in json.loads(sys.stdin.read()):
        if "kernel" in job:
            results.append(other(job, arch))
            continue
        need = compile_launch(Launch(**{**job, "config": KernelConfig(**job["config"])}), arch)
        results.append(dict(registers=need.registers, spills=need.spills, shared=need.shared, fits=need.fits(),
                            loads=dict(need.loads)))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
