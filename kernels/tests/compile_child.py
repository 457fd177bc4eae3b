# SPDX-License-Identifier: Apache-2.0
"""Started by test_compiles.py: reads jobs from standard input, compiles each for argv[1], prints JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from splitverify.crosscompile import Launch, Resources, compile_kernel, compile_launch, compile_prefill
from splitverify.ops.config import KernelConfig
from splitverify.ops.prefill_config import PrefillConfig


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


def sampler(arch: int) -> list[Resources]:
    """Compile the launches of top-k and top-p."""
    from splitverify.ops import top_k_top_p as k6

    rows = dict(logits_ptr="*fp32", keys_ptr="*i32", threshold_ptr="*fp32", k_ptr="*i32", p_ptr="*fp32", k_left_ptr="*i32",
                p_left_ptr="*fp32", stride="i64", vocab="i32", count="i32")
    jobs: list[tuple[Any, dict[str, Any]]] = [
        (k6.largest_of_parts, dict(PART=k6.PART, MOST=k6.MOST)), (k6.mask_below, dict(PART=k6.PART)),
        (k6.decide, dict(COUNT=2048, MOST=k6.MOST, HAS_P=True)), (k6.decide, dict(COUNT=2048, MOST=k6.MOST, HAS_P=False))]
    return [compile_kernel(kernel, {n: t for n, t in rows.items() if n in kernel.arg_names}, consts, [], 8, 2, arch)
            for kernel, consts in jobs]


def resources(need: Resources) -> dict[str, Any]:
    """As JSON."""
    return dict(registers=need.registers, spills=need.spills, shared=need.shared, fits=need.fits(), loads=dict(need.loads),
                mma=dict(need.mma), unfenced=need.unfenced)


def main() -> None:
    arch = int(sys.argv[1])
    results = []
    for job in json.loads(sys.stdin.read()):
        if job.get("kernel") == "sampler":
            results += [resources(need) for need in sampler(arch)]
            continue
        if job.get("kernel") == "prefill":
            config, scores = PrefillConfig(**job["config"]), job["scores"]
            launch = Launch(config=KernelConfig(), **{k: v for k, v in job.items() if k not in ("kernel", "config", "scores")})
            results.append(resources(compile_prefill(launch, config, scores, arch)))
            continue
        if "kernel" in job:
            results.append(other(job, arch))
            continue
        need = compile_launch(Launch(**{**job, "config": KernelConfig(**job["config"])}), arch)
        results.append(resources(need))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
