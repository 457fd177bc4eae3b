# SPDX-License-Identifier: Apache-2.0
"""K1 and K3: correctness, then time, then the same for peers that are installed; a plain read of the bytes is the floor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from splitverify.bench import Wrong
from splitverify.bench.peers import PEERS
from splitverify.bench.timing import PlainRead, Timer
from splitverify.cases import FORMATS, Case, make_batch, poisoned_scratch, why_wrong
from splitverify.layout import SCALE_BYTES, UNQUANTIZED
from splitverify.ops.verify_attention import verify_attention
from splitverify.ops.verify_attention_ref import verify_attention_ref
from splitverify.selection import select


def visible_bytes(case: Case) -> int:
    """Bytes of K and V that must be read once."""
    fmt = FORMATS[case.fmt]
    row = 2 * case.head_size if fmt == UNQUANTIZED else case.head_size + (SCALE_BYTES if case.fmt == "int8" else 0)
    keys = sum(min(n, case.window + q) if case.window else n for n, q in zip(case.lens, case.q))
    return keys * case.num_kv_heads * 2 * row


def measure(case: Case, timer: Timer, graph_length: int | None = None, peers: bool = True) -> Iterator[dict[str, Any]]:
    """One record a kernel: name, microseconds, share of the floor. Ours first; raises :class:`Wrong` when it is red.

    ``graph_length`` takes the config a captured graph of a model with that maximum length would use.
    """
    props = torch.cuda.get_device_properties(0)
    batch = make_batch(case, "cuda")
    choice = select((props.major, props.minor), props.multi_processor_count, head_size=case.head_size, fmt=case.fmt,
                    layout=case.layout, num_heads=case.num_heads, num_kv_heads=case.num_kv_heads,
                    max_query_len=max(case.q), requests=len(case.lens),
                    max_length=case.window + max(case.q) if case.window else graph_length or max(case.lens))
    scratch = poisoned_scratch(sum(case.q), case.num_heads, case.head_size, choice.config.segments, "cuda")
    ref = verify_attention_ref(*batch.args(), **batch.kwargs)  # type: ignore[arg-type]

    def ours() -> None:
        verify_attention(*batch.args(), batch.out, scratch, max_query_len=max(case.q), config=choice.config,
                         **batch.kwargs)  # type: ignore[arg-type]

    ours()
    why = why_wrong(batch.out, ref, batch.max_v)
    if why:
        raise Wrong(f"{case.label()} with {choice.config}: {why}")
    read = PlainRead(visible_bytes(case))
    read()
    if not read.is_right():
        raise Wrong("the plain read did not read everything")
    common = dict(fmt=case.fmt, layout=case.layout, q=case.q[0], length=case.lens[0], requests=len(case.lens),
                  window=case.window, gpu=props.name)
    # The floor is timed before and after: the smaller one counts.
    floor = timer(read)
    mine = timer(ours)
    floor = min(floor, timer(read), key=lambda t: t.median)
    yield dict(common, kernel="plain read", us=floor.median, low=floor.low, high=floor.high, of_floor=1.0)
    yield dict(common, kernel="splitverify", us=mine.median, low=mine.low, high=mine.high,
               of_floor=floor.median / mine.median, config=choice.config.as_dict(), why=choice.why(),
               error=(batch.out.float() - ref).abs().max().item())
    if not peers:
        return
    out = torch.empty_like(batch.out)
    for name, (make, comparable) in PEERS.items():
        on_layout = replace(case, layout="inline")
        try:
            other = batch if case.layout == "inline" else make_batch(on_layout, "cuda")
            call = make(on_layout, other, out)
            if isinstance(call, str):
                continue
            out.fill_(float("nan"))
            call()
            torch.cuda.synchronize()
            why = why_wrong(out, ref, batch.max_v) if comparable else None
            took = timer(call, replays=10)
            yield dict(common, kernel=name, us=took.median, low=took.low, high=took.high,
                       of_floor=floor.median / took.median, wrong=why)
        except Exception as error:
            yield dict(common, kernel=name, absent=f"{type(error).__name__}: {str(error)[:120]}")
