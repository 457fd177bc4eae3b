# SPDX-License-Identifier: Apache-2.0
"""K4 and K5: correctness, then the time of one chunk of a prefill behind a context, then the same for peers that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from splitverify.bench import Wrong
from splitverify.bench.prefill_peers import PREFILL_PEERS
from splitverify.bench.timing import Timing
from splitverify.cases import Batch, Case, make_batch, why_wrong
from splitverify.ops.prefill_attention import prefill_attention
from splitverify.ops.prefill_attention_ref import prefill_attention_ref
from splitverify.ops.prefill_config import PrefillConfig
from splitverify.prefill_selection import select_prefill

Timer = Callable[..., Timing]
CHUNK = 2048
WAYS = (("int8", "planar", "exact8"), ("int8", "planar", "int8"), ("int8", "inline", "exact8"), ("bf16", "inline", "plain"),
        ("bf16", "inline", "int8"), ("fp8", "inline", "plain"), ("fp8", "inline", "int8"))
"""(format, layout, scores) that are measured."""
PAGES = {"bf16": 448, "int8": 864, "fp8": 880}


def prefill_case(fmt: str, layout: str, length: int, chunk: int = CHUNK) -> Case:
    """The last ``chunk`` tokens of one request of the target model: 24 query heads, 4 KV heads, head size 256."""
    return Case(fmt=fmt, layout=layout, lens=(length,), q=(min(chunk, length),), block_size=PAGES[fmt])


def operations(case: Case) -> int:
    """Multiplications and additions of the two products over the keys that are visible."""
    seen = sum(q * (n - q) + q * (q + 1) // 2 for n, q in zip(case.lens, case.q))
    return 4 * case.num_heads * case.head_size * seen


def arguments(batch: Batch, scores: str) -> dict[str, Any]:
    """The keyword arguments that kernel and reference share."""
    return {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")} | dict(scores=scores)


def cosine_of(scores: str) -> float:
    """The least cosine of a row. Where q or K is quantized, a value half way between two steps may go either way."""
    return 0.9999 if scores == "int8" else 0.99999


def why_wrong_sampled(batch: Batch, out: torch.Tensor, scores: str, every: int) -> str | None:
    """:func:`why_wrong` on each so-manyth token, from the last one back."""
    ref = prefill_attention_ref(*batch.args(), every=every, **arguments(batch, scores))
    seen = ~ref[:, 0, 0].isnan()
    if not torch.isfinite(out).all():
        return "values that are not finite"
    return why_wrong(out[seen], ref[seen], batch.max_v, cosine_of(scores))


def measure_prefill(case: Case, ways: list[str], timer: Timer, peers: bool = True, device: str = "cuda",
                    config: PrefillConfig | None = None) -> Iterator[dict[str, Any]]:
    """One record a kernel for ``case``: ours with each of ``ways`` to multiply, then the peers.

    ``timer`` is a :class:`splitverify.bench.timing.Timer`. Raises :class:`Wrong` when a result of ours is.
    """
    batch = make_batch(case, device)
    ops = operations(case)
    capability = torch.cuda.get_device_capability() if device == "cuda" else (8, 6)
    common = dict(fmt=case.fmt, layout=case.layout, chunk=case.q[0], length=case.lens[0],
                  gpu=torch.cuda.get_device_name() if device == "cuda" else device)
    every = max(1, case.q[0] // 16)

    def record(kernel: str, took: Timing, **more: Any) -> dict[str, Any]:
        return dict(common, kernel=kernel, us=took.median, low=took.low, high=took.high,
                    tflops=ops / took.median / 1e6, **more)

    replays = 10 if ops < 2e12 else 5
    for scores in ways:
        choice = None
        if config is None:
            choice = select_prefill(capability, head_size=case.head_size, fmt=case.fmt, layout=case.layout, scores=scores)
        used = config or choice.config  # type: ignore[union-attr]

        def ours(scores: str = scores, used: PrefillConfig = used) -> None:
            prefill_attention(*batch.args(), batch.out, config=used, **arguments(batch, scores))

        batch.out.fill_(float("nan"))
        ours()
        why = why_wrong_sampled(batch, batch.out, scores, every)
        if why:
            raise Wrong(f"{case.label()} {scores} with {used}: {why}")
        exact = prefill_attention_ref(*batch.args(), every=every, **arguments(batch, "plain"))
        seen = ~exact[:, 0, 0].isnan()
        yield record(f"splitverify {scores}", timer(ours, replays=replays), config=used.as_dict(),
                     why=choice.why() if choice else "given",
                     error=(batch.out[seen].float() - exact[seen]).abs().max().item())
    if not peers:
        return
    out = torch.empty_like(batch.out)
    for name, (make, comparable) in PREFILL_PEERS.items():
        if case.layout == "planar" and name != "vLLM unified":
            continue                                               # the same as for inline pages: nobody reads planar ones
        try:
            on_layout = replace(case, layout="inline")
            other = batch if case.layout == "inline" else make_batch(on_layout, device)
            call = make(on_layout, other, out)
            if isinstance(call, str):
                continue
            out.fill_(float("nan"))
            call()
            torch.cuda.synchronize()
            why = why_wrong_sampled(other, out, "plain", every) if comparable else None
            yield record(name, timer(call, replays=3 if ops > 2e12 else 5, warm=1), wrong=why)
        except Exception as error:                                 # a peer that is not there, or cannot run here
            yield dict(common, kernel=name, absent=f"{type(error).__name__}: {str(error)[:160]}")
