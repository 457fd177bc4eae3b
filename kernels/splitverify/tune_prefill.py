# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.tune_prefill``: find good configs of the prefill kernel for this GPU.

Every candidate's result is checked before it is timed. ``--table`` writes the best ones into the table that ships. As with
:mod:`splitverify.tune`, what is reported comes from another process: ``splitverify.bench.prefill``.
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

from splitverify.bench.bench_prefill_attention import arguments, prefill_case, why_wrong_sampled
from splitverify.cases import Case, make_batch
from splitverify.ops.prefill_attention import prefill_attention
from splitverify.ops.prefill_config import PrefillConfig
from splitverify.tables import write_table
from splitverify.untuned_prefill import HERE, KINDS, LAYERS

Kind = tuple[int, str, str, str]
# (rows, tile, warps, stages, lazy, whether to try spread columns)
WIDE = ((128, 64, 8, 2, 8, True), (128, 64, 8, 2, 0, True), (64, 64, 4, 2, 8, True), (64, 64, 4, 2, 0, True),
        (128, 64, 8, 3, 8, True), (128, 64, 8, 1, 8, False), (128, 128, 8, 1, 8, False), (128, 128, 8, 2, 8, False),
        (128, 32, 8, 3, 8, False), (64, 32, 4, 3, 8, False), (64, 128, 4, 2, 8, False))
NARROW = ((128, 64, 8, 2, 8, False), (64, 64, 4, 2, 8, False), (128, 64, 8, 3, 8, False), (128, 128, 8, 2, 8, False))
"""For the kinds of head size 256 that serve, and for the rest."""


def kinds() -> list[Kind]:
    """(head size, format, layout, scores) that a table answers for."""
    return [(size, *kind) for size in LAYERS for kind in KINDS]


def case_of(kind: Kind, length: int, chunk: int) -> Case:
    """A chunk of a prefill through a layer of that kind."""
    size, fmt, layout, _ = kind
    heads, kv_heads = LAYERS[size]
    return replace(prefill_case(fmt, layout, length, chunk), num_heads=heads, num_kv_heads=kv_heads, head_size=size)


def candidates(kind: Kind) -> Iterator[PrefillConfig]:
    """Configs worth a try for a kind."""
    _, fmt, _, scores = kind
    decode = {"bf16": "plain", "int8": "packed", "fp8": "native" if torch.cuda.get_device_capability() >= (8, 9) else
              "packed"}[fmt]
    consumer = torch.cuda.get_device_capability() in ((8, 6), (8, 9), (12, 0))
    sums = (False, True) if consumer and (fmt != "bf16" or scores == "int8") else (False,)
    size = kind[0]
    shapes = NARROW if size == 128 or (fmt == "int8" and scores == "plain") else WIDE
    for (rows, tile, warps, stages, lazy, both), sum16 in itertools.product(shapes, sums):
        lazy = min(lazy, 0 if fmt == "bf16" else 3) if sum16 else lazy
        if sum16 and tile > 64:
            continue
        for spread in (False, True) if both and fmt != "bf16" else (False,):
            yield PrefillConfig(rows, tile, warps, stages, decode, sum16, spread, lazy)


def _compile_one(job: tuple[Kind, PrefillConfig]) -> str | None:
    """In a child: compile by a tiny call, so that the parent finds it in triton's cache."""
    kind, config = job
    try:
        batch = make_batch(case_of(kind, 40, 20), "cuda")
        prefill_attention(*batch.args(), batch.out, config=config, **arguments(batch, kind[3]))
        torch.cuda.synchronize()
        return None
    except Exception as error:  # too much shared memory, mostly
        return f"{type(error).__name__}: {str(error)[:120]}"


def compile_all(jobs: list[tuple[Kind, PrefillConfig]], workers: int) -> list[str | None]:
    """Compile every kernel of ``jobs`` in parallel; why each cannot be used, or None."""
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_compile_one, jobs, chunksize=2))


def time_kind(kind: Kind, configs: list[PrefillConfig], timer: Any, length: int, chunk: int,
              deadline: float) -> list[dict[str, Any]]:
    """Check and time ``configs``, best first."""
    batch = make_batch(case_of(kind, length, chunk), "cuda")
    results = []
    for config in configs:
        if time.time() > deadline:
            print(f"OUT OF TIME at {kind}: {len(results)} of {len(configs)} tried", flush=True)
            break
        batch.out.fill_(float("nan"))

        def call(config: PrefillConfig = config) -> None:
            prefill_attention(*batch.args(), batch.out, config=config, **arguments(batch, kind[3]))
        call()
        why = why_wrong_sampled(batch, batch.out, kind[3], chunk // 8)
        if why:
            print(f"WRONG {kind} {config}: {why}", flush=True)
            continue
        results.append(dict(us=timer(call, replays=4, warm=1).median, config=config.as_dict()))
    return sorted(results, key=lambda r: r["us"])


def main(argv: list[str] | None = None) -> int:
    """Tune, print the best of each kind, and write JSON lines and the table."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.tune_prefill", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines to write")
    parser.add_argument("--table", type=int, help="also write data/prefill/sm_<TABLE>.json")
    parser.add_argument("--length", type=int, default=16384)
    parser.add_argument("--chunk", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=400, help="stop timing after this long")
    parser.add_argument("--workers", type=int, default=14, help="processes that compile")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("tuning needs the GPU it is for", file=sys.stderr)
        return 2
    from splitverify.bench.timing import Timer

    begun = time.time()
    jobs = list(dict.fromkeys((kind, config) for kind in kinds() for config in candidates(kind)))
    failed = compile_all(jobs, args.workers)
    print(f"{len(jobs)} kernels, {sum(map(bool, failed))} do not compile, {time.time() - begun:.0f} s", flush=True)
    timer = Timer()
    rows = []
    with args.out.open("w") as out:
        for kind in kinds():
            usable = [c for (k, c), why in zip(jobs, failed) if k == kind and not why]
            best = time_kind(kind, usable, timer, args.length, args.chunk, begun + args.seconds)
            size, fmt, layout, scores = kind
            line = dict(gpu=torch.cuda.get_device_name(), head_size=size, format=fmt, layout=layout, scores=scores,
                        length=args.length, chunk=args.chunk, tried=len(best), best=best[:8])
            out.write(json.dumps(line) + "\n")
            for r in best[:2]:
                print(f"{r['us']:8.1f} us  {kind} {r['config']}", flush=True)
            if best:
                rows.append(dict(head_size=size, format=fmt, layout=layout, scores=scores, measured=line["gpu"],
                                 config=best[0]["config"]))
    if args.table:
        write_table(HERE / f"sm_{args.table}.json", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
