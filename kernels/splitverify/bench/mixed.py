# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench.mixed``: batches that no one kernel suits, by the prefill kernel alone and as a layer does them.

A verify step behind a long context beside a prefill, and a short suffix behind a long context. Both results are compared
before they are timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from splitverify.bench import Wrong
from splitverify.bench.timing import Timing
from splitverify.cases import Case, make_batch
from splitverify.plugin.runner import FORMAT_OF_DTYPE, LayerRunner

BATCHES = (((102400, 6144), (8, 2040)), ((102400, 102400, 102400, 6144), (8, 8, 8, 2000)), ((16384, 6144), (8, 2040)),
           ((6144, 4000), (1024, 1024)), ((16384,), (128,)), ((102400,), (64,)), ((102400,), (128,)), ((102400,), (256,)))
"""(keys, query tokens) of each request."""
CACHES = {"int8": ("int8_per_token_head", "planar", 864), "bf16": ("auto", "inline", 448)}


def layer(fmt: str, device: torch.device, **sizes: int) -> LayerRunner:
    """A layer of the target model that serves 131,072 keys and verify steps of 16 tokens."""
    dtype, layout, _ = CACHES[fmt]
    assert dtype in FORMAT_OF_DTYPE
    shape = dict(num_heads=24, num_kv_heads=4, head_size=256) | sizes
    return LayerRunner(**shape, scale=shape["head_size"] ** -0.5, kv_cache_dtype=dtype, layout=layout, window=0, query_max=16,
                       max_length=131072, device=device)


def measure_batch(runner: LayerRunner, case: Case, timer: Callable[..., Timing], device: str = "cuda") -> dict[str, Any]:
    """Times of both, microseconds. Raises :class:`Wrong` when they differ by more than bf16 results may."""
    batch = make_batch(case, device)
    one = torch.ones(1, device=device)
    way = runner.way(sum(case.q), max(case.q), len(case.q), True)

    def call() -> None:
        runner.attend(batch.q, batch.kv_cache, batch.block_table, batch.seq_lens, batch.query_start_loc, batch.out,
                      max(case.q), True, one, one)

    call()
    ours, took = batch.out.clone(), timer(call, replays=8)
    batch.out.fill_(float("nan"))
    runner.way = lambda *args: "prefill"  # type: ignore[method-assign]
    try:
        call()
        alone = timer(call, replays=8)
    finally:
        del runner.way  # type: ignore[attr-defined]
    differ = float((batch.out.float() - ours.float()).abs().max())
    if not differ <= 2.0 ** -7 * batch.max_v:
        raise Wrong(f"{case.label()}: {way} and the prefill kernel alone differ by {differ}")
    return dict(fmt=case.fmt, lens=case.lens, q=case.q, way=way, prefill_us=alone.median, us=took.median, differ=differ)


def main(argv: list[str] | None = None) -> int:
    """Measure and write ``mixed.jsonl``; 1 when a result is wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.mixed", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the records")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("a benchmark needs a GPU, and torch finds none here", file=sys.stderr)
        return 2
    from splitverify.bench.timing import Timer

    timer = Timer()
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "mixed.jsonl").open("w") as out:
        for fmt, (_, layout, block) in CACHES.items():
            runner = layer(fmt, torch.device("cuda", torch.cuda.current_device()))
            for lens, q in BATCHES:
                try:
                    row = measure_batch(runner, Case(fmt=fmt, layout=layout, lens=lens, q=q, block_size=block), timer)
                except Wrong as error:
                    print(f"WRONG, no speeds: {error}", file=sys.stderr)
                    return 1
                out.write(json.dumps(row) + "\n")
                print(f"{fmt} {lens} {q}: {row['way']} {row['us']:.0f} us, prefill kernel alone {row['prefill_us']:.0f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
