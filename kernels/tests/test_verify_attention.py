# SPDX-License-Identifier: Apache-2.0
"""K1 against its reference: formats x query lengths x ragged batches x strides x windows x padding.

Runs in the interpreter without a GPU, and compiled with one. Unused slots, other blocks and the scratch hold NaN.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from splitverify.cases import Case, make_batch, poisoned_scratch, why_wrong
from splitverify.ops.config import KernelConfig
from splitverify.ops.verify_attention import verify_attention
from splitverify.ops.verify_attention_ref import verify_attention_ref

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FORMATS = ("bf16", "int8", "fp8")
SMALL = KernelConfig(tile=16, rows=64, segments=4, stages=1)


def run(case: Case, config: KernelConfig) -> str | None:
    """Why the kernel is wrong on ``case``, or None."""
    batch = make_batch(case, DEVICE)
    scratch = poisoned_scratch(max(batch.q.shape[0], 1), case.num_heads, case.head_size, config.segments, DEVICE)
    verify_attention(*batch.args(), batch.out, scratch, max_query_len=max(case.q), config=config, **batch.kwargs)
    ref = verify_attention_ref(*batch.args(), **batch.kwargs)
    return why_wrong(batch.out, ref, batch.max_v)


# The target's group and head size. One KV head where heads are not the question: the interpreter's time is in programs.
TARGET = dict(num_heads=6, num_kv_heads=1, head_size=256)
HEADS = dict(num_heads=12, num_kv_heads=2, head_size=256)
DRAFTER = dict(num_heads=8, num_kv_heads=2, head_size=128)

CASES = {
    "one token": (Case(lens=(1,), q=(1,), **TARGET), SMALL),
    "whole sequence is new": (Case(lens=(8,), q=(8,), **TARGET), SMALL),
    "q=1 in 16 rows": (Case(lens=(50,), q=(1,), **TARGET), replace(SMALL, rows=16)),
    "q=5, page end": (Case(lens=(48,), q=(5,), **TARGET), SMALL),
    "q=16 in query tiles": (Case(lens=(70,), q=(16,), **TARGET), SMALL),
    "q=16 in 64+32 rows": (Case(lens=(70,), q=(16,), **TARGET), replace(SMALL, rows=64, rows2=32)),
    "q=8 in 32+16 rows": (Case(lens=(70,), q=(8,), **TARGET), replace(SMALL, rows=32, rows2=16)),
    "q=64": (Case(lens=(80,), q=(64,), num_heads=2, num_kv_heads=1, head_size=128), replace(SMALL, rows=32)),
    "ragged": (Case(lens=(37, 3, 90, 20), q=(8, 1, 4, 5), **TARGET), SMALL),
    "padding rows": (Case(lens=(37, 1, 0, 50), q=(4, 0, 0, 8), **HEADS), SMALL),
    "group of 1": (Case(lens=(40,), q=(4,), num_heads=2, num_kv_heads=2, head_size=128), replace(SMALL, rows=16)),
    "group of 5": (Case(lens=(40,), q=(5,), num_heads=5, num_kv_heads=1, head_size=128), replace(SMALL, rows=32)),
    "group of 16": (Case(lens=(40,), q=(3,), num_heads=16, num_kv_heads=1, head_size=128), SMALL),
    "page larger than tile": (Case(lens=(130,), q=(8,), block_size=48, **TARGET), replace(SMALL, tile=32)),
    "page smaller than tile": (Case(lens=(90,), q=(8,), block_size=16, **TARGET), replace(SMALL, tile=64)),
    "page multiple of tile": (Case(lens=(120,), q=(8,), block_size=64, **TARGET), replace(SMALL, tile=32)),
    "page 448": (Case(lens=(460,), q=(3,), block_size=448, num_heads=2, num_kv_heads=1, head_size=128),
                 replace(SMALL, tile=128)),
    "head-major pages": (Case(lens=(75,), q=(8,), block_size=32, head_major=True, **HEADS), SMALL),
    "padded pages": (Case(lens=(75,), q=(8,), block_size=32, page_padding=1024, **HEADS), SMALL),
    "more segments than tiles": (Case(lens=(20, 90), q=(4, 4), **TARGET), replace(SMALL, segments=24)),
    "one segment": (Case(lens=(75,), q=(8,), **TARGET), replace(SMALL, segments=1)),
    "outliers": (Case(lens=(90,), q=(8,), outliers=True, **TARGET), SMALL),
    "causal window": (Case(lens=(90, 30), q=(5, 8), window=24, **DRAFTER), SMALL),
    "non-causal": (Case(lens=(90, 30), q=(8, 8), causal=False, **DRAFTER), SMALL),
    "non-causal window": (Case(lens=(90, 33), q=(8, 8), causal=False, window=32, **DRAFTER), SMALL),
    "window wider than context": (Case(lens=(30,), q=(8,), causal=False, window=64, **DRAFTER), SMALL),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, fmt: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt=fmt), config) is None


@pytest.mark.parametrize("name", ["ragged", "page larger than tile", "page smaller than tile", "head-major pages",
                                  "padded pages", "outliers", "non-causal window"])
def test_planar(name: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt="int8", layout="planar"), config) is None


@pytest.mark.parametrize("name", ["one token", "ragged", "q=16 in 64+32 rows", "outliers", "non-causal window"])
def test_int8_queries(name: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt="int8", layout="planar"), replace(config, int8_qk=True)) is None


@pytest.mark.parametrize(("fmt", "layout"), [("fp8", "inline"), ("int8", "planar")])
@pytest.mark.parametrize("name", ["one token", "ragged", "padding rows", "page larger than tile", "page smaller than tile",
                                  "padded pages", "more segments than tiles", "one segment", "outliers",
                                  "causal window", "non-causal window"])
def test_turned(name: str, fmt: str, layout: str) -> None:
    case, config = CASES[name]
    parts = 2 if case.head_size == 256 and name != "ragged" else 1
    assert run(replace(case, fmt=fmt, layout=layout), replace(config, turned=True, parts=parts)) is None


@pytest.mark.parametrize(("fmt", "layout"), [("fp8", "inline"), ("int8", "planar"), ("int8", "inline")])
@pytest.mark.parametrize("name", ["one token", "ragged", "padding rows", "page larger than tile", "page smaller than tile",
                                  "padded pages", "head-major pages", "one segment", "outliers", "causal window",
                                  "non-causal window"])
def test_turned_with_raw_keys(name: str, fmt: str, layout: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt=fmt, layout=layout), replace(config, turned=True, raw_keys=True)) is None


@pytest.mark.parametrize(("fmt", "layout"), [("fp8", "inline"), ("int8", "planar")])
def test_raw_keys_with_very_unlike_queries(fmt: str, layout: str) -> None:
    """All rows of a query tile share one factor: small ones must not be lost beside a large one, nor a row of zeros."""
    case = Case(fmt=fmt, lens=(60,), q=(5,), num_heads=3, num_kv_heads=1, head_size=128, layout=layout)
    batch = make_batch(case, DEVICE)
    batch.q.mul_(torch.tensor([30.0, 1.0, 1e-2, 0.0, 3.0], device=DEVICE)[:, None, None])
    config = KernelConfig(tile=16, rows=16, segments=2, stages=1, turned=True, raw_keys=True)
    verify_attention(*batch.args(), batch.out, poisoned_scratch(5, 3, 128, 2, DEVICE), max_query_len=5, config=config,
                     **batch.kwargs)
    assert why_wrong(batch.out, verify_attention_ref(*batch.args(), **batch.kwargs), batch.max_v) is None


@pytest.mark.parametrize("name", ["q=16 in query tiles", "head-major pages", "page 448"])
def test_turned_inline_int8(name: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt="int8"), replace(config, turned=True)) is None


def test_turned_when_the_maximum_moves_late() -> None:
    """Weights are kept within a power of two of a maximum that is moved only when it must be."""
    case = Case(fmt="int8", lens=(200,), q=(4,), num_heads=2, num_kv_heads=1, head_size=128, layout="planar")
    batch = make_batch(case, DEVICE)
    loud = torch.arange(200) // 40                                 # each stretch of keys louder than the one before
    keys = batch.cache.key_scales()
    for key, factor in enumerate(loud.tolist()):
        keys[batch.block_table[0, key // 16].long(), key % 16] *= 3.0**factor
    for turned, raw in ((False, False), (True, False), (True, True)):
        config = KernelConfig(tile=16, rows=16, segments=2, stages=1, turned=turned, raw_keys=raw)
        verify_attention(*batch.args(), batch.out, poisoned_scratch(4, 2, 128, 2, DEVICE), max_query_len=4,
                         config=config, **batch.kwargs)
        assert why_wrong(batch.out, verify_attention_ref(*batch.args(), **batch.kwargs), batch.max_v) is None


@pytest.mark.parametrize("fmt", FORMATS)
def test_one_segment_writes_directly_and_takes_long_queries(fmt: str) -> None:
    case = Case(fmt=fmt, lens=(100, 9), q=(70, 9), num_heads=2, num_kv_heads=1, head_size=128)
    batch = make_batch(case, DEVICE)
    config = KernelConfig(tile=32, rows=64, segments=1, stages=1)
    verify_attention(*batch.args(), batch.out, None, max_query_len=70, config=config, **batch.kwargs)
    assert why_wrong(batch.out, verify_attention_ref(*batch.args(), **batch.kwargs), batch.max_v) is None


@pytest.mark.parametrize("segments", [1, 4])
def test_a_query_that_sees_no_key_gets_zeros(segments: int) -> None:
    """A batch that is captured has one key a request and more queries than that. Nothing else may be overwritten."""
    case = Case(lens=(1, 20), q=(8, 4), num_heads=4, num_kv_heads=1, head_size=128)
    batch = make_batch(case, DEVICE)
    scratch = poisoned_scratch(12, 4, 128, segments, DEVICE) if segments > 1 else None
    config = KernelConfig(tile=16, rows=16, segments=segments, stages=1)                   # 4 tokens a query tile
    verify_attention(*batch.args(), batch.out, scratch, max_query_len=8, config=config, **batch.kwargs)
    assert torch.count_nonzero(batch.out[:7]) == 0
    own = batch.cache.values()[batch.block_table[0, 0].long(), 0].float()
    assert torch.allclose(batch.out[7].float(), own.expand(4, -1), atol=2**-8)
    q, cache, table, lens, starts = batch.args()
    ref = verify_attention_ref(q[8:], cache, table[1:], lens[1:], starts[1:] - 8, **batch.kwargs)
    assert why_wrong(batch.out[8:], ref, batch.max_v) is None
