# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.doctor``: is this machine fine, what would be used on it, and why.

Everywhere: a few batches through the kernels in triton's interpreter, against the reference. With a GPU: random batches
and graph replays on it, and the configs that would be used. Exit status 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
from typing import Any


def interpreter_check() -> list[str]:
    """Run in a process with TRITON_INTERPRET=1: what is wrong, empty when nothing is."""
    import torch

    from splitverify.cases import Case, make_batch, poisoned_scratch, why_wrong
    from splitverify.ops.config import KernelConfig
    from splitverify.ops.prefill_attention import prefill_attention
    from splitverify.ops.prefill_config import PrefillConfig
    from splitverify.ops.quantize_store import quantize_store
    from splitverify.ops.quantize_store_ref import quantize_store_ref
    from splitverify.ops.verify_attention import verify_attention
    from splitverify.ops.verify_attention_ref import verify_attention_ref

    wrong = []
    shape: dict[str, Any] = dict(num_heads=4, num_kv_heads=1, head_size=128, lens=(50, 9), q=(4, 2))
    for fmt in ("bf16", "int8", "fp8"):
        case = Case(fmt=fmt, layout="planar" if fmt == "int8" else "inline", **shape)
        batch = make_batch(case)
        config = KernelConfig(tile=16, rows=16, segments=3, stages=1, int8_qk=fmt == "int8")
        verify_attention(*batch.args(), batch.out, poisoned_scratch(6, 4, 128, 3), max_query_len=4, config=config,
                         **batch.kwargs)  # type: ignore[arg-type]
        ref = verify_attention_ref(*batch.args(), **batch.kwargs)  # type: ignore[arg-type]
        why = why_wrong(batch.out, ref, batch.max_v)
        if why:
            wrong.append(f"verify attention, {fmt}: {why}")
        batch.out.fill_(float("nan"))
        how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")}
        prefill_attention(*batch.args(), batch.out, config=PrefillConfig(rows=16, tile=16, stages=1),
                          scores="exact8" if fmt == "int8" else "plain", **how)  # type: ignore[arg-type]
        why = why_wrong(batch.out, ref, batch.max_v)
        if why:
            wrong.append(f"prefill attention, {fmt}: {why}")
        one, two = make_batch(case), make_batch(case)
        k, v = torch.randn(3, 1, 128).bfloat16(), torch.randn(3, 1, 128).bfloat16()
        slots = torch.tensor([17, -1, 20])
        scales = (torch.tensor([0.02]), torch.tensor([0.03]))
        quantize_store(k, v, one.cache, slots, *scales)
        quantize_store_ref(k, v, two.cache, slots, *scales)
        if not torch.equal(one.kv_cache.view(torch.uint8), two.kv_cache.view(torch.uint8)):
            wrong.append(f"store, {fmt}: bytes differ from the reference")
    return wrong


def in_interpreter() -> list[str]:
    """:func:`interpreter_check` in a process of its own, because triton decides at import."""
    code = "import json; from splitverify.doctor import interpreter_check; print(json.dumps(interpreter_check()))"
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode:
        return [f"the interpreter check did not run: {done.stderr.strip().splitlines()[-1] if done.stderr else '?'}"]
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def choices(capability: tuple[int, int], multiprocessors: int, max_length: int) -> list[str]:
    """What would be used for the target's and the drafter's shape, one line each."""
    from splitverify.ops.prefill_config import SCORES
    from splitverify.prefill_selection import select_prefill
    from splitverify.selection import NoTable, select

    lines = []
    for fmt, layout in (("bf16", "inline"), ("fp8", "inline"), ("int8", "planar"), ("int8", "inline")):
        for name, size, heads, kv_heads, length, lengths in (
                ("target", 256, 24, 4, max_length, (1, 4, 8, 16)), ("drafter", 128, 32, 8, 2064, (8, 16))):
            for q in lengths:
                try:
                    choice = select(capability, multiprocessors, head_size=size, fmt=fmt, layout=layout, num_heads=heads,
                                    num_kv_heads=kv_heads, max_query_len=q, max_length=length)
                    c = choice.config
                    lines.append(f"{name} {fmt} {layout} q={q}: tile {c.tile}, rows {c.rows}+{c.rows2}, {c.warps} warps, "
                                 f"{c.stages} stages, {c.segments} segments, {c.decode}"
                                 f"{', integer scores' if c.int8_qk else ''}{', turned' if c.turned else ''} "
                                 f"({choice.why()})")
                except NoTable as error:
                    lines.append(f"{name} {fmt} {layout} q={q}: none, {error}")
        for scores in SCORES:
            try:
                prefill = select_prefill(capability, head_size=256, fmt=fmt, layout=layout, scores=scores)
            except NoTable:                                        # a way that this format does not have
                continue
            p = prefill.config
            lines.append(f"prefill {fmt} {layout} {scores}: {p.rows} rows, tile {p.tile}, {p.warps} warps, {p.stages} stages "
                         f"({prefill.why()})")
    return lines


def gpu(text: str) -> tuple[tuple[int, int], int]:
    """``8.6:82`` as ((8, 6), 82). Raises what argparse reports for anything else."""
    found = re.fullmatch(r"(\d+)\.(\d):(\d+)", text)
    if not found or not int(found[3]):
        raise argparse.ArgumentTypeError(f"{text!r} is not CAPABILITY:MULTIPROCESSORS, such as 8.6:82")
    return (int(found[1]), int(found[2])), int(found[3])


def main(argv: list[str] | None = None) -> int:
    """Print the findings; 1 when something is wrong or missing."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.doctor", description=__doc__)
    parser.add_argument("--max-length", type=int, default=131072, help="the model's longest request")
    parser.add_argument("--cases", type=int, default=30, help="random batches on the GPU")
    parser.add_argument("--gpu", type=gpu, help="show the choices for CAPABILITY:MULTIPROCESSORS instead, e.g. 8.6:82")
    args = parser.parse_args(argv)
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; nothing was checked")
        return 1
    wrong = in_interpreter()
    print(f"interpreter: {'ok' if not wrong else 'WRONG'}")
    import torch

    capability, multiprocessors = None, 0
    if args.gpu:
        capability, multiprocessors = args.gpu
    elif torch.cuda.is_available():
        props = torch.cuda.get_device_properties(0)
        capability, multiprocessors = (props.major, props.minor), props.multi_processor_count
        print(f"GPU: {props.name}, {capability[0]}.{capability[1]}, {multiprocessors} multiprocessors")
        from splitverify import stress_prefill
        from splitverify.stress import random_failures, replay_failures
        from splitverify.stress_draw import kernels_of

        found = [w for w in random_failures(args.cases, 0) if w]
        found += [w for w in stress_prefill.random_failures(args.cases // 3, 0) if w]
        for fmt in ("bf16", "int8", "fp8"):
            for kernel in kernels_of(fmt, capability):
                found += list(replay_failures(fmt, 20, kernel))
        print(f"tolerance and graph replays on the GPU: {'ok' if not found else 'WRONG'}")
        wrong += found
    else:
        print("no GPU: nothing was run on one (--gpu 8.6:82 shows what another would get)")
    if capability:
        print("\n".join(choices(capability, multiprocessors, args.max_length)))
    if importlib.util.find_spec("vllm") is None:
        print("plugin: off, vLLM is not installed")
    else:
        from splitverify.plugin import why_off

        reason = why_off()
        print(f"plugin: {'on' if reason is None else 'off, ' + reason}")
    for line in wrong:
        print("WRONG", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
