# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.tune``: find good configs for this GPU and write them as a selection table's rows.

Every candidate's result is checked before it is timed; a wrong one is reported and dropped. Reporting is not done
here but by ``splitverify.bench``, in another process: the best of many noisy times is a flattering number.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from splitverify.cases import Case, make_batch, poisoned_scratch, why_wrong
from splitverify.ops.config import MAX_SEGMENTS, KernelConfig
from splitverify.ops.verify_attention import verify_attention
from splitverify.ops.verify_attention_ref import verify_attention_ref
from splitverify.selection import NoTable, select

# The page sizes vLLM arrives at for this model family, and the layout the plugin uses for the format.
PAGES = {"bf16": (448, "inline"), "int8": (864, "planar"), "fp8": (880, "inline")}


def verify_case(fmt: str, q: int, length: int) -> Case:
    """One request of the target model: 24 query heads, 4 KV heads, head size 256."""
    block, layout = PAGES[fmt]
    return Case(fmt=fmt, lens=(length,), q=(q,), block_size=block, layout=layout)


def drafter_case(fmt: str, q: int, length: int) -> Case:
    """One request of the drafter: 32 query heads, 8 KV heads, head size 128, window 2048, not causal."""
    block, layout = PAGES[fmt]
    return Case(fmt=fmt, lens=(length,), q=(q,), num_heads=32, num_kv_heads=8, head_size=128, block_size=block,
                layout=layout, causal=False, window=2048)


def segment_choices(case: Case, query_tiles: int, sms: int) -> list[int]:
    """Segment counts that fill the multiprocessors once and twice, and 16."""
    per_wave = sms / (case.num_kv_heads * len(case.lens) * query_tiles)
    tiles = -(-min(max(case.lens), case.window + max(case.q) if case.window else max(case.lens)) // 16)
    found = {int(per_wave * w) for w in (1, 2)} | {16}
    return sorted(n for n in found if 1 <= n <= min(MAX_SEGMENTS, tiles))


# (tile, rows, warps, stages) that came out on top of a wide search on an H200, by rows needed.
SHORT_LIST = {
    16: ((64, 16, 4, 4), (64, 16, 4, 2), (32, 16, 4, 4), (64, 16, 4, 1), (32, 64, 4, 4)),
    32: ((32, 32, 4, 3), (64, 32, 4, 1), (64, 32, 4, 3), (32, 64, 4, 3), (64, 64, 4, 1), (64, 64, 4, 2)),
    64: ((32, 64, 4, 4), (32, 64, 4, 3), (32, 64, 4, 2), (64, 64, 4, 1), (64, 64, 4, 2), (64, 64, 4, 3), (64, 64, 8, 3),
         (128, 64, 8, 1), (128, 64, 8, 2)),
    128: ((32, 128, 8, 4), (32, 128, 8, 3), (64, 128, 8, 1), (64, 128, 8, 2), (64, 128, 8, 3), (128, 128, 8, 1),
          (32, 64, 4, 4), (32, 64, 4, 2), (64, 64, 4, 1)),
}
# (tile, rows, warps, stages, parts) of the turned kernel, for 8-bit caches. Three stages are two tiles in flight.
TURNED_LIST = {
    16: ((64, 16, 4, 3, 1), (64, 16, 4, 4, 1), (128, 16, 8, 3, 1)),
    32: ((64, 32, 4, 3, 1), (64, 32, 4, 4, 1), (128, 32, 8, 3, 1)),
    64: ((64, 64, 4, 3, 2), (64, 64, 4, 2, 2), (128, 64, 8, 3, 1)),
    128: ((64, 64, 4, 3, 2), (64, 64, 4, 2, 2), (128, 64, 8, 3, 1)),
}
# The same with raw keys, tried where they are asked for: K takes one tile more of shared memory there, because the matrix unit reads it in place.
RAW_LIST = {
    16: TURNED_LIST[16],
    32: (*TURNED_LIST[32], (128, 64, 8, 3, 1)),
    64: ((64, 64, 4, 2, 2), (64, 64, 4, 3, 2), (128, 64, 8, 3, 1), (128, 64, 8, 3, 2), (128, 64, 8, 2, 1), (64, 64, 8, 3, 1),
         (64, 64, 8, 4, 1)),
    128: ((64, 64, 4, 2, 2), (128, 64, 8, 3, 1), (128, 64, 8, 3, 2), (64, 64, 8, 4, 1), (64, 128, 8, 3, 2), (64, 128, 8, 2, 2)),
}


def shipped(case: Case, capability: tuple[int, int], sms: int) -> list[KernelConfig]:
    """What the table gives that case now: a row is replaced by what was faster in the same minutes, not than long ago."""
    try:
        return [select(capability, sms, head_size=case.head_size, fmt=case.fmt, layout=case.layout, num_heads=case.num_heads,
                       num_kv_heads=case.num_kv_heads, max_query_len=max(case.q), requests=len(case.lens),
                       max_length=case.window + max(case.q) if case.window else max(case.lens)).config]
    except NoTable:
        return []


def candidates(case: Case, sms: int, wide: bool = False, kernels: str = "both",
               raw: tuple[str, ...] = ()) -> Iterator[KernelConfig]:
    """Configs worth a try for ``case``: the short lists, or with ``wide`` everything that makes sense. ``kernels`` is
    ``split``, ``turned`` or ``both``; the turned one is tried with raw keys too for the formats in ``raw``."""
    group = case.num_heads // case.num_kv_heads
    need = max(case.q) * group
    rows_listed = min(x for x in SHORT_LIST if x >= min(need, 128))
    decode = {"bf16": ["plain"], "int8": ["packed"], "fp8": ["packed", "native"] if wide else ["native"]}[case.fmt]
    int8_qk = (True, False) if case.fmt == "int8" else (False,)
    shapes: list[tuple[int, int, int, int, int]]
    if wide:
        rows = [(r, 0) for r in (16, 32, 64, 128) if r >= min(need, 64) and (r == 64 or r < 2 * max(need, 16))]
        rows += [(a, b) for a, b in ((32, 16), (64, 32)) if a < need <= a + b]
        shapes = [(tile, r, r2, w, st) for (r, r2), tile, w, st in itertools.product(rows, (32, 64, 128), (4, 8),
                                                                                     (1, 2, 3, 4))
                  if tile * (r + r2) <= 128 * 128 and not (r + r2 <= 32 and w == 8) and not (r >= 128 and w == 4)]
    else:
        shapes = [(tile, r, 0, w, st) for tile, r, w, st in SHORT_LIST[rows_listed]]
    found = []
    if kernels != "turned":
        found += [KernelConfig(tile, r, r2, w, st, 1, dec, i8)
                  for (tile, r, r2, w, st), dec, i8 in itertools.product(shapes, decode, int8_qk)]
    if kernels != "split" and case.fmt != "bf16":
        decode = ["packed", "native"] if case.fmt == "fp8" and wide else ["packed"]
        found += [KernelConfig(tile, r, 0, w, st, 1, dec, turned=True, parts=parts if case.head_size == 256 else 1)
                  for (tile, r, w, st, parts), dec in itertools.product(TURNED_LIST[rows_listed], decode)]
        found += [KernelConfig(tile, r, 0, w, st, 1, "packed", turned=True, parts=parts if case.head_size == 256 else 1,
                               raw_keys=True) for tile, r, w, st, parts in RAW_LIST[rows_listed] if case.fmt in raw]
    for config in found:
        rows = config.rows + config.rows2
        if rows < group:
            continue
        for segments in segment_choices(case, -(-max(case.q) // (rows // group)), sms):
            yield replace(config, segments=segments)


def _compile_one(job: tuple[Case, KernelConfig]) -> str | None:
    """In a child: compile by a tiny call, so that the parent finds it in triton's cache."""
    case, config = job
    try:
        q = tuple(min(x, 2) for x in case.q)
        batch = make_batch(replace(case, lens=(case.block_size + 1,), q=q), "cuda")
        scratch = poisoned_scratch(4, case.num_heads, case.head_size, config.segments, "cuda")
        verify_attention(*batch.args(), batch.out, scratch, max_query_len=max(q), config=config, **batch.kwargs)
        torch.cuda.synchronize()
        return None
    except Exception as error:  # too much shared memory, mostly
        return f"{type(error).__name__}: {str(error)[:120]}"


def compile_all(jobs: list[tuple[Case, KernelConfig]], workers: int) -> dict[Any, str | None]:
    """Compile every distinct kernel of ``jobs`` in parallel. Returns why, per (shape, config less segments), or None."""
    distinct = {}
    for case, config in jobs:
        config = replace(config, segments=2)                       # one segment is another kernel
        distinct[(case.fmt, case.layout, case.head_size, config)] = (case, config)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        return dict(zip(distinct, pool.map(_compile_one, distinct.values(), chunksize=4)))


def time_case(case: Case, configs: list[KernelConfig], timer: Any, failed: dict[Any, str | None],
              deadline: float) -> list[dict[str, Any]]:
    """Check and time ``configs`` on ``case``, best first."""
    results: list[dict[str, Any]] = []
    if time.time() > deadline:
        print(f"OUT OF TIME before {case.label()}", flush=True)
        return results
    batch = make_batch(case, "cuda")
    ref = verify_attention_ref(*batch.args(), **batch.kwargs)
    scratch = poisoned_scratch(max(case.q), case.num_heads, case.head_size, MAX_SEGMENTS, "cuda")
    for config in configs:
        why = failed.get((case.fmt, case.layout, case.head_size, replace(config, segments=2)))
        if why or time.time() > deadline:
            continue
        batch.out.fill_(float("nan"))

        def call(config: KernelConfig = config) -> None:
            verify_attention(*batch.args(), batch.out, scratch, max_query_len=max(case.q), config=config,
                             **batch.kwargs)
        call()
        why = why_wrong(batch.out, ref, batch.max_v)
        if why:
            print(f"WRONG {case.label()} {config}: {why}", flush=True)
            continue
        results.append(dict(us=timer(call, replays=5, warm=1).median, config=config.as_dict()))
    if time.time() > deadline:
        print(f"OUT OF TIME at {case.label()}: only {len(results)} of {len(configs)} tried", flush=True)
    return sorted(results, key=lambda r: r["us"])


def main(argv: list[str] | None = None) -> int:
    """Tune and write JSON lines: one per case, with its best configs in order."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.tune", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines to write")
    parser.add_argument("--formats", default="bf16,int8,fp8")
    parser.add_argument("--q", default="1,4,8,16")
    parser.add_argument("--lengths", default="4096,16384,131072")
    parser.add_argument("--drafter", action="store_true", help="tune the drafter's windowed path as well")
    parser.add_argument("--inline", action="store_true", help="tune int8 in vLLM's own layout as well")
    parser.add_argument("--wide", action="store_true", help="try everything, not only the short list (takes long)")
    parser.add_argument("--no-verify", action="store_true", help="leave out the target's own cases")
    parser.add_argument("--kernels", choices=("both", "split", "turned"), default="both", help="which of the two to try")
    parser.add_argument("--raw", default="", help="formats that the turned kernel is tried for with raw keys: int8,fp8")
    parser.add_argument("--seconds", type=float, default=400, help="stop timing after this long")
    parser.add_argument("--workers", type=int, default=14, help="processes that compile")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("tuning needs the GPU it is for", file=sys.stderr)
        return 2
    from splitverify.bench.timing import Timer

    props = torch.cuda.get_device_properties(0)
    begun = time.time()
    cases = [verify_case(f, int(q), int(n)) for n in reversed(args.lengths.split(",")) for q in args.q.split(",")
             for f in args.formats.split(",")] if not args.no_verify else []
    if args.inline:
        cases += [replace(verify_case("int8", int(q), int(n)), layout="inline")
                  for n in reversed(args.lengths.split(",")) for q in args.q.split(",") if int(q) >= 8]
    if args.drafter:
        cases += [drafter_case(f, q, 16384) for f in args.formats.split(",") for q in (8, 16)]
    sms = props.multi_processor_count
    jobs = [(c, k) for c in cases for k in dict.fromkeys(
        [*shipped(c, (props.major, props.minor), sms),
         *candidates(c, sms, args.wide, args.kernels, tuple(args.raw.split(",")))])]
    failed = compile_all(jobs, args.workers)
    print(f"{len(failed)} kernels, {sum(map(bool, failed.values()))} do not compile, {time.time() - begun:.0f} s",
          flush=True)
    timer = Timer()
    with args.out.open("w") as out:
        for case in cases:
            best = time_case(case, [k for c, k in jobs if c is case], timer, failed, begun + args.seconds)
            line = dict(gpu=props.name, capability=list(torch.cuda.get_device_capability()), case=vars(case),
                        tried=len(best), best=best[:12])
            out.write(json.dumps(line) + "\n")
            out.flush()
            for r in best[:2]:
                print(f"{r['us']:8.1f} us  {case.fmt} {case.layout} q={case.q[0]} L={case.lens[0]} w={case.window} {r['config']}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
