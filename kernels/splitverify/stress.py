# SPDX-License-Identifier: Apache-2.0
"""Random batches against the reference, and graph replays against eager calls. For a GPU; ``doctor`` runs a few.

``python -m splitverify.stress --cases 10000`` runs many.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import torch

from splitverify.cases import Case, make_batch, poisoned_scratch, why_wrong
from splitverify.ops.config import KernelConfig
from splitverify.ops.verify_attention import verify_attention
from splitverify.ops.verify_attention_ref import verify_attention_ref

# (tile, rows, rows2, warps, stages): few, because every one compiles for every shape of layer below.
SHAPES = ((32, 32, 0, 4, 2), (64, 64, 0, 4, 2), (32, 32, 16, 4, 2))
TURNED = ((64, 64, 0, 4, 3), (64, 32, 0, 4, 3), (128, 64, 0, 8, 2))
LAYERS = ((24, 4, 256), (32, 8, 128), (5, 1, 128), (16, 1, 256))
BLOCKS = (16, 48, 448)


def random_case(rng: random.Random, fmt: str) -> tuple[Case, KernelConfig]:
    """A ragged batch of 1 to 5 requests and a config for it."""
    heads, kv_heads, size = rng.choice(LAYERS)
    requests = rng.randint(1, 5)
    q = tuple(rng.choice((0, 1, 2, 3, 4, 5, 8, 16)) for _ in range(requests))
    q = q if any(q) else (4, *q[1:])
    lens = tuple(max(n, 1) + int(rng.choice((0, rng.random() * 64, rng.random() * 700, 2 ** (rng.random() * 12))))
                 for n in q)
    windowed = size == 128 and rng.random() < 0.5
    layout = rng.choice(("inline", "planar")) if fmt == "int8" else "inline"
    case = Case(fmt=fmt, lens=lens, q=q, num_heads=heads, num_kv_heads=kv_heads, head_size=size,
                block_size=rng.choice(BLOCKS), layout=layout, head_major=rng.random() < 0.3,
                page_padding=rng.choice((0, 1024)), causal=not windowed, window=rng.choice((0, 128)) if windowed else 0,
                outliers=rng.random() < 0.2, seed=rng.getrandbits(30))
    turned = fmt != "bf16" and rng.random() < 0.5
    tile, rows, rows2, warps, stages = rng.choice(TURNED if turned else SHAPES)
    decode = "plain" if fmt == "bf16" else "packed"
    return case, KernelConfig(tile, rows, rows2, warps, stages, rng.choice((1, 2, 7, 16, 33)), decode,
                              fmt == "int8" and not turned and rng.random() < 0.5, turned,
                              2 if turned and size == 256 and rows == 64 and warps == 4 else 1)


def run_case(case: Case, config: KernelConfig, device: str = "cuda") -> str | None:
    """Why the kernel is wrong on ``case``, or None. Runs twice: the bits must be the same."""
    batch = make_batch(case, device)
    tokens = batch.q.shape[0]
    scratch = poisoned_scratch(tokens, case.num_heads, case.head_size, config.segments, device)

    def call() -> torch.Tensor:
        batch.out.fill_(float("nan"))
        return verify_attention(*batch.args(), batch.out, scratch, max_query_len=max(case.q), config=config,
                                **batch.kwargs).clone()  # type: ignore[arg-type]

    first = call()
    if not torch.equal(first, call()):
        return "two runs differ"
    return why_wrong(first, verify_attention_ref(*batch.args(), **batch.kwargs), batch.max_v)  # type: ignore[arg-type]


def random_failures(count: int, seed: int, seconds: float = 1e9) -> Iterator[str | None]:
    """Run ``count`` random cases, or as many as fit into ``seconds``; yields None or a description for each."""
    rng = random.Random(seed)
    end = time.time() + seconds
    for i in range(count):
        if time.time() > end:
            return
        case, config = random_case(rng, ("bf16", "int8", "fp8")[i % 3])
        why = run_case(case, config)
        yield None if why is None else f"{why}: {case} {config}"


def large_pool(fmt: str, device: str = "cuda") -> str | None:
    """A pool beyond 2**31 elements, the request in its last pages."""
    case = Case(fmt=fmt, lens=(900,), q=(8,), block_size=448, layout="planar" if fmt == "int8" else "inline",
                extra_blocks=2600)
    if 2600 * 448 * 4 * 512 <= 2**31:
        raise AssertionError("the pool is meant to pass 2**31 elements")
    small = make_batch(replace(case, extra_blocks=4), device)
    big = make_batch(case, device)
    last = big.cache.num_blocks
    pages = -(-case.lens[0] // case.block_size)
    # Move the request's pages to the end of the pool, whatever the drawn order was.
    for i in range(pages):
        src = int(big.block_table[0, i])
        dst = last - 1 - i
        if src < last - pages:
            big.kv_cache[dst].copy_(big.kv_cache[src])
            big.block_table[0, i] = dst
    del small
    config = KernelConfig(64, 64, 0, 4, 2, 16, "plain" if fmt == "bf16" else "packed", turned=fmt != "bf16")
    scratch = poisoned_scratch(8, 24, 256, 16, device)
    verify_attention(*big.args(), big.out, scratch, max_query_len=8, config=config, **big.kwargs)  # type: ignore[arg-type]
    if int(big.block_table[0, 0]) * big.cache.stride_block <= 2**31:
        return "the request's pages are not beyond 2**31"
    return why_wrong(big.out, verify_attention_ref(*big.args(), **big.kwargs), big.max_v)  # type: ignore[arg-type]


def replay_failures(fmt: str, replays: int, seed: int = 1) -> Iterator[str]:
    """Capture one call; replay it with other lengths, query lengths and tables; each must equal the eager call's bits."""
    rng = random.Random(seed)
    case = Case(fmt=fmt, lens=(3000, 2000, 500, 1), q=(8, 8, 8, 8), block_size=448,
                layout="planar" if fmt == "int8" else "inline")
    case = replace(case, lens=tuple(max(n, 8) for n in case.lens))
    batch = make_batch(case, "cuda")
    config = KernelConfig(64, 64, 0, 4, 2, 16, "plain" if fmt == "bf16" else "packed", turned=fmt != "bf16")
    scratch = poisoned_scratch(32, 24, 256, 16, "cuda")
    full = batch.seq_lens.clone()

    def call(out: torch.Tensor) -> None:
        verify_attention(*batch.args(), out, scratch, max_query_len=8, config=config, **batch.kwargs)  # type: ignore[arg-type]

    eager = torch.empty_like(batch.out)
    call(batch.out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(batch.out)
    for i in range(replays):
        q = [rng.randint(0, 8) for _ in case.q]
        lens = [rng.randint(max(n, 1), max(int(m), n, 1)) for n, m in zip(q, full.tolist())]
        batch.query_start_loc.copy_(torch.tensor([0, *q]).cumsum(0).int())
        batch.seq_lens.copy_(torch.tensor(lens, dtype=torch.int32))
        batch.out.fill_(0)
        eager.fill_(0)
        graph.replay()
        call(eager)
        if not torch.equal(batch.out, eager):
            yield f"{fmt}: replay {i} differs from the eager call for q={q} lens={lens}"


def main() -> int:
    """Run everything; prints failures and counts."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.stress", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop drawing cases after this long")
    args = parser.parse_args()
    bad = 0
    done = 0
    for why in random_failures(args.cases, args.seed, args.seconds):
        done += 1
        if why:
            bad += 1
            print("WRONG", why, flush=True)
    print(f"{done} random batches, {bad} wrong", flush=True)
    for fmt in ("bf16", "int8", "fp8"):
        for name, failures in (("replays", list(replay_failures(fmt, args.replays))),
                               ("pool beyond 2**31", [w for w in [large_pool(fmt)] if w])):
            bad += len(failures)
            print(f"{fmt}: {name}: {len(failures)} wrong {failures[:2]}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
