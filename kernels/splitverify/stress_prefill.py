# SPDX-License-Identifier: Apache-2.0
"""Random prefill batches against the reference, verify rows among them. For a GPU; ``doctor`` runs a few.

``python -m splitverify.stress_prefill --cases 1000`` runs many.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

import torch

from splitverify.bench.bench_prefill_attention import arguments, cosine_of
from splitverify.cases import Case, make_batch, why_wrong
from splitverify.ops.prefill_attention import prefill_attention
from splitverify.ops.prefill_attention_ref import prefill_attention_ref
from splitverify.ops.prefill_config import PrefillConfig

WAYS = (("int8", "exact8"), ("int8", "int8"), ("int8", "plain"), ("bf16", "plain"), ("bf16", "int8"), ("fp8", "plain"),
        ("fp8", "int8"))
# Few, because each combination compiles: (query heads, KV heads, head size, head-major pages), page sizes.
LAYERS = ((24, 4, 256, False), (5, 1, 128, False), (16, 1, 256, False), (8, 4, 128, True))
BLOCKS = (16, 432)


def random_case(rng: random.Random, longest: int) -> tuple[Case, str, int]:
    """A ragged batch of 1 to 4 requests, how its scores are made, and which requests are left alone."""
    heads, kv_heads, size, head_major = rng.choice(LAYERS)
    q = tuple(rng.choice((0, 1, 4, 8, 17, rng.randint(1, longest // 3), rng.randint(1, longest))) for _ in range(rng.randint(1, 4)))
    q = q if any(q) else (33,)
    lens = tuple(max(n, 1) + int(rng.choice((0, rng.random() * 64, rng.random() * longest, rng.random() * 3 * longest))) for n in q)
    fmt, scores = rng.choice(WAYS)
    layout = rng.choice(("inline", "planar")) if fmt == "int8" else "inline"
    case = Case(fmt=fmt, lens=lens, q=q, num_heads=heads, num_kv_heads=kv_heads, head_size=size,
                block_size=rng.choice(BLOCKS), layout=layout, head_major=head_major, page_padding=rng.choice((0, 1024)),
                outliers=rng.random() < 0.2 and scores != "int8", seed=rng.getrandbits(30))
    return case, scores, rng.choice((0, 0, 8))


def run_case(case: Case, scores: str, longer_than: int, config: PrefillConfig, device: str = "cuda") -> str | None:
    """Why the kernel is wrong on ``case``, or None. Runs twice: the bits must be the same."""
    batch = make_batch(case, device)
    how = dict(arguments(batch, scores), longer_than=longer_than)

    def call() -> torch.Tensor:
        batch.out.fill_(float("nan"))
        return prefill_attention(*batch.args(), batch.out, config=config, **how).clone()  # type: ignore[arg-type]

    first = call()
    left = torch.cat([torch.full((n,), n <= longer_than) for n in case.q]).to(device)
    if not torch.equal(first[~left], call()[~left]):
        return "two runs differ"
    if not first[left].isnan().all():
        return "a short request was written"
    if not (~left).any():
        return None
    ref = prefill_attention_ref(*batch.args(), **how)  # type: ignore[arg-type]
    return why_wrong(first[~left], ref[~left], batch.max_v, cosine_of(scores))


def random_failures(count: int, seed: int, seconds: float = 1e9, device: str = "cuda",
                    longest: int = 900) -> Iterator[str | None]:
    """Run ``count`` random cases of up to ``longest`` query tokens a request, or as many as fit into ``seconds``; yields
    None or a description for each."""
    rng = random.Random(seed)
    end = time.time() + seconds
    for _ in range(count):
        if time.time() > end:
            return
        case, scores, longer_than = random_case(rng, longest)
        config = PrefillConfig(64, 32, 4, 2, "plain" if case.fmt == "bf16" else "packed")
        why = run_case(case, scores, longer_than, config, device)
        yield None if why is None else f"{why}: {case} {scores} {longer_than}"


def large_pool(fmt: str, scores: str, device: str = "cuda") -> str | None:
    """A pool beyond 2**31 elements whose last pages are the request's."""
    case = Case(fmt=fmt, lens=(900,), q=(200,), block_size=448, layout="planar" if fmt == "int8" else "inline",
                extra_blocks=2600)
    batch = make_batch(case, device)
    for i in range(-(-case.lens[0] // case.block_size)):
        source, target = int(batch.block_table[0, i]), batch.cache.num_blocks - 1 - i
        if source < batch.cache.num_blocks - 4:
            batch.kv_cache[target].copy_(batch.kv_cache[source])
            batch.block_table[0, i] = target
    if int(batch.block_table[0, 0]) * batch.cache.stride_block <= 2**31:
        return "the request's pages are not beyond 2**31"
    how = arguments(batch, scores)
    config = PrefillConfig(64, 32, 4, 2, "plain" if fmt == "bf16" else "packed")
    prefill_attention(*batch.args(), batch.out, config=config, **how)
    return why_wrong(batch.out, prefill_attention_ref(*batch.args(), **how), batch.max_v, cosine_of(scores))


def main() -> int:
    """Run everything; prints failures and counts."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.stress_prefill", description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop drawing cases after this long")
    parser.add_argument("--no-pools", action="store_true", help="leave the pools beyond 2**31 elements out")
    args = parser.parse_args()
    failures = [why for why in random_failures(args.cases, args.seed, args.seconds)]
    bad = [why for why in failures if why]
    print(f"{len(failures)} random prefill batches, {len(bad)} wrong", flush=True)
    for fmt, scores in () if args.no_pools else (("bf16", "plain"), ("int8", "exact8"), ("fp8", "plain")):
        why = large_pool(fmt, scores)
        print(f"{fmt} prefill: pool beyond 2**31: {1 if why else 0} wrong", flush=True)
        bad += [why] if why else []
    for why in bad[:5]:
        print("WRONG", why)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
