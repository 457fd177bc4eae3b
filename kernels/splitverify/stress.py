# SPDX-License-Identifier: Apache-2.0
"""Random batches against the reference, and graph replays against eager calls. For a GPU; ``doctor`` runs a few.

``python -m splitverify.stress --batches 10000`` runs many; several processes share the work with ``--share 1/12`` and so on.
A failure says with which arguments its batch alone runs again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import torch
from triton.runtime.errors import OutOfResources

from splitverify.cases import Batch, Case, make_batch, poisoned_scratch, why_wrong
from splitverify.ops.config import KernelConfig
from splitverify.ops.verify_attention import verify_attention
from splitverify.ops.verify_attention_ref import verify_attention_ref
from splitverify.stress_draw import KINDS, Kind, draw_batch, draw_kind, kernels_of

TURNS = ("int8", "fp8", "bf16", "int8", "fp8")
"""Formats in turns: four of five batches have 8 bits, and go through each kernel for them."""


def run_batch(batch: Batch, config: KernelConfig, ref: torch.Tensor, max_query_len: int) -> str | None:
    """Why the kernel is wrong on ``batch``, or None. Runs twice: the bits must be the same."""
    tokens, heads, size = batch.q.shape
    scratch = poisoned_scratch(tokens, heads, size, config.segments, batch.q.device)
    results = []
    for _ in range(2):
        batch.out.fill_(float("nan"))
        verify_attention(*batch.args(), batch.out, scratch, max_query_len=max_query_len, config=config,
                         **batch.kwargs)  # type: ignore[arg-type]
        results.append(batch.out.clone())
    if not torch.equal(*results):
        return "two runs differ"
    return why_wrong(results[0], ref, batch.max_v)


class Stress:
    """Random batches of one process: ``share`` of how many, ``seed``; counts in ``ran`` what ran, by kernel."""

    def __init__(self, seed: int, share: tuple[int, int] = (1, 1), capability: tuple[int, int] | None = None) -> None:
        self.seed, self.share, self.ran = seed, share, Counter[str]()
        self.capability = capability or torch.cuda.get_device_capability()

    @cached_property
    def kinds(self) -> dict[str, list[Kind]]:
        """Every kind, by format."""
        return {fmt: [draw_kind(i, fmt, self.capability) for i in range(count)] for fmt, count in KINDS.items()}

    @cached_property
    def own(self) -> list[Kind]:
        """The kinds that this process compiles, so that no two compile the same; formats mixed."""
        mixed = sorted((i / len(kinds), fmt, i) for fmt, kinds in self.kinds.items() for i in range(len(kinds)))
        return [self.kinds[fmt][i] for _, fmt, i in mixed[self.share[0] - 1::self.share[1]]]

    def draw(self, number: int) -> tuple[Case, dict[str, KernelConfig]]:
        """Batch ``number``: of one of its own kinds first, then of any."""
        rng = random.Random(f"kind {self.seed} {number}")
        kind = self.own[number] if number < len(self.own) else rng.choice(self.kinds[TURNS[number % len(TURNS)]])
        return draw_batch(kind, self.seed, number)

    def run(self, number: int, device: str = "cuda") -> list[str]:
        """What is wrong with batch ``number``: a line for each kernel that is."""
        case, configs = self.draw(number)
        batch = make_batch(case, device)
        ref = verify_attention_ref(*batch.args(), **batch.kwargs)  # type: ignore[arg-type]
        found = []
        for kernel, config in configs.items():
            about = f"--seed {self.seed} --share {self.share[0]}/{self.share[1]} --only {number}: {kernel}"
            try:
                why = run_batch(batch, config, ref, max(case.q))
            except OutOfResources:                                 # a config for a larger GPU
                self.ran["did not fit"] += 1
                continue
            except Exception as error:                             # one that does not compile must not end the others
                why = f"{type(error).__name__}: {str(error)[-300:]}"
                if "CUDA" in why:                                  # after a fault nothing runs in this process
                    raise RuntimeError(f"WRONG {about}: {case} {config}") from error
            self.ran[kernel] += 1
            self.ran[f"{case.fmt} {kernel}"] += 1
            if why:
                found.append(f"{about}: {why}: {case} {config}")
        return found


def random_failures(count: int, seed: int) -> Iterator[str | None]:
    """Run ``count`` random batches; yields None or a description for each."""
    stress = Stress(seed)
    for number in range(count):
        found = stress.run(number)
        yield "; ".join(found) if found else None


def fixed_config(fmt: str, kernel: str) -> KernelConfig:
    """The config of the pool and of the replays: small enough for any GPU."""
    return KernelConfig(32 if kernel == "split" else 64, 64, 0, 4, 2, 16, "plain" if fmt == "bf16" else "packed", turned=kernel != "split",
                        raw_keys=kernel == "raw keys")


def large_pool(fmt: str, kernel: str = "split", device: str = "cuda") -> str | None:
    """A pool beyond 2**31 elements, the request in its last pages."""
    case = Case(fmt=fmt, lens=(900,), q=(8,), block_size=448, layout="planar" if fmt == "int8" else "inline",
                extra_blocks=2600)
    if 2600 * 448 * 4 * 512 <= 2**31:
        raise AssertionError("the pool is meant to pass 2**31 elements")
    batch = make_batch(case, device)
    last = batch.cache.num_blocks
    pages = -(-case.lens[0] // case.block_size)
    # Move the request's pages to the end of the pool, whatever the drawn order was.
    for i in range(pages):
        src = int(batch.block_table[0, i])
        dst = last - 1 - i
        if src < last - pages:
            batch.kv_cache[dst].copy_(batch.kv_cache[src])
            batch.block_table[0, i] = dst
    if int(batch.block_table[0, 0]) * batch.cache.stride_block <= 2**31:
        return "the request's pages are not beyond 2**31"
    ref = verify_attention_ref(*batch.args(), **batch.kwargs)  # type: ignore[arg-type]
    return run_batch(batch, fixed_config(fmt, kernel), ref, 8)


def replay_failures(fmt: str, replays: int, kernel: str = "split", seed: int = 1) -> Iterator[str]:
    """Capture one call; replay it with other lengths, query lengths and tables; each must equal the eager call's bits."""
    rng = random.Random(seed)
    case = Case(fmt=fmt, lens=(3000, 2000, 500, 8), q=(8, 8, 8, 8), block_size=448,
                layout="planar" if fmt == "int8" else "inline")
    batch = make_batch(case, "cuda")
    config = fixed_config(fmt, kernel)
    scratch = poisoned_scratch(32, 24, 256, config.segments, "cuda")
    table = batch.block_table.clone()

    def call(out: torch.Tensor) -> None:
        verify_attention(*batch.args(), out, scratch, max_query_len=8, config=config, **batch.kwargs)  # type: ignore[arg-type]

    eager = torch.empty_like(batch.out)
    call(batch.out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(batch.out)
    for i in range(replays):
        order = rng.sample(range(4), 4)                            # whose pages each row of the table names
        q = [rng.randint(0, 8) for _ in case.q]
        lens = [rng.randint(max(n, 1), max(case.lens[r], n, 1)) for n, r in zip(q, order)]
        batch.block_table.copy_(table[order])
        batch.query_start_loc.copy_(torch.tensor([0, *q]).cumsum(0).int())
        batch.seq_lens.copy_(torch.tensor(lens, dtype=torch.int32))
        batch.out.fill_(0)
        eager.fill_(0)
        graph.replay()
        call(eager)
        if not torch.equal(batch.out, eager):
            yield f"{fmt} {kernel}: replay {i} differs from the eager call for q={q} lens={lens} order={order}"


def parse_share(text: str) -> tuple[int, int]:
    """``2/12`` as two numbers. Raises what argparse reports."""
    part, slash, whole = text.partition("/")
    if not (slash and part.isdigit() and whole.isdigit() and 1 <= int(part) <= int(whole)):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 2/12")
    return int(part), int(whole)


def main(argv: list[str] | None = None) -> int:
    """Run everything; prints failures and counts. 1 when anything is wrong, 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.stress", description=__doc__)
    parser.add_argument("--batches", type=int, default=1000, help="how many random batches")
    parser.add_argument("--replays", type=int, default=1000, help="how many replays of each captured graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=parse_share, default=(1, 1), help="this process's part of the kinds, graphs and pools")
    parser.add_argument("--only", type=int, help="run this one batch")
    parser.add_argument("--seconds", type=float, default=1e9, help="draw no batch after this long, replays included")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("random batches need a GPU, and torch finds none here", file=sys.stderr)
        return 2
    end = time.time() + args.seconds
    torch.set_num_threads(1)
    stress = Stress(args.seed, args.share)
    bad = done = 0
    if args.only is None:
        pairs = [(fmt, kernel) for fmt in KINDS for kernel in kernels_of(fmt, stress.capability)]
        for fmt, kernel in pairs[args.share[0] - 1::args.share[1]]:
            for name, found in ((f"{args.replays} replays", list(replay_failures(fmt, args.replays, kernel))),
                                ("pool beyond 2**31", [w for w in [large_pool(fmt, kernel)] if w])):
                bad += len(found)
                print(f"{fmt} {kernel}: {name}: {len(found)} wrong {found[:2]}", flush=True)
        torch.cuda.empty_cache()
    for number in range(args.batches) if args.only is None else (args.only,):
        if time.time() > end:
            break
        found = stress.run(number)
        done += 1
        bad += len(found)
        for line in found:
            print("WRONG", line, flush=True)
    print(f"{done} random batches, {bad} wrong; by kernel:", *(f"{k}={n}" for k, n in sorted(
        (k.replace(" ", "-"), n) for k, n in stress.ran.items())), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
