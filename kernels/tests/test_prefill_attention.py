# SPDX-License-Identifier: Apache-2.0
"""K4 and K5 against their reference: formats x ways to multiply x query lengths x ragged and mixed batches x padding.

Runs in the interpreter without a GPU, and compiled with one. Unused slots, other blocks and the output hold NaN.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from splitverify.bench.bench_prefill_attention import cosine_of
from splitverify.cases import Case, make_batch, why_wrong
from splitverify.ops.prefill_attention import prefill_attention
from splitverify.ops.prefill_attention_ref import prefill_attention_ref
from splitverify.ops.prefill_config import PrefillConfig
from splitverify.ops.verify_attention_ref import verify_attention_ref

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = PrefillConfig(rows=64, tile=32, warps=4, stages=1)
WAYS = (("int8", "exact8"), ("int8", "int8"), ("int8", "plain"), ("bf16", "plain"), ("bf16", "int8"), ("fp8", "plain"),
        ("fp8", "int8"))


def run(case: Case, config: PrefillConfig, scores: str, **kwargs: int) -> str | None:
    """Why the kernel is wrong on ``case``, or None."""
    batch = make_batch(case, DEVICE)
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")} | dict(scores=scores, **kwargs)
    prefill_attention(*batch.args(), batch.out, config=config, **how)  # type: ignore[arg-type]
    ref = prefill_attention_ref(*batch.args(), **how)  # type: ignore[arg-type]
    return why_wrong(batch.out, ref, batch.max_v, cosine_of(scores))


# The target's group and head size. One KV head where heads are not the question: the interpreter's time is in programs.
TARGET = dict(num_heads=6, num_kv_heads=1, head_size=256)
HEADS = dict(num_heads=12, num_kv_heads=2, head_size=256)
SLIM = dict(num_heads=2, num_kv_heads=1, head_size=128)

CASES = {
    "one token": (Case(lens=(1,), q=(1,), **TARGET), SMALL),
    "a prompt": (Case(lens=(50,), q=(50,), **TARGET), SMALL),
    "a chunk behind a context": (Case(lens=(150,), q=(41,), **TARGET), SMALL),
    "first key of a tile": (Case(lens=(97,), q=(33,), **TARGET), SMALL),
    "ragged, verify rows between": (Case(lens=(90, 37, 21, 100, 3), q=(30, 4, 21, 1, 2), **TARGET), SMALL),
    "padding rows": (Case(lens=(37, 1, 0, 70), q=(24, 0, 0, 8), **HEADS), SMALL),
    "group of 1": (Case(lens=(100,), q=(70,), num_heads=2, num_kv_heads=2, head_size=128), SMALL),
    "group of 5": (Case(lens=(70,), q=(40,), num_heads=5, num_kv_heads=1, head_size=128), SMALL),
    "group of 16": (Case(lens=(40,), q=(9,), num_heads=16, num_kv_heads=1, head_size=128), SMALL),
    "page larger than tile": (Case(lens=(170,), q=(40,), block_size=80, **SLIM), SMALL),
    "page smaller than tile": (Case(lens=(170,), q=(40,), block_size=16, **SLIM), replace(SMALL, tile=64)),
    "page as large as tile": (Case(lens=(170,), q=(40,), block_size=32, **SLIM), SMALL),
    "page 432": (Case(lens=(500,), q=(30,), block_size=432, **SLIM), replace(SMALL, tile=128)),
    "head-major pages": (Case(lens=(75,), q=(20,), block_size=48, head_major=True, **HEADS), SMALL),
    "padded pages": (Case(lens=(75,), q=(20,), block_size=48, page_padding=1024, **HEADS), SMALL),
    "outliers": (Case(lens=(120,), q=(20,), outliers=True, **TARGET), SMALL),
    "fp16 sums": (Case(lens=(150,), q=(30,), **TARGET), replace(SMALL, sum16=True)),
    "lazy maximum": (Case(lens=(150, 20), q=(30, 20), outliers=True, **TARGET), replace(SMALL, lazy=6)),
    "lazy maximum, fp16 sums": (Case(lens=(150,), q=(30,), **TARGET), replace(SMALL, sum16=True, lazy=3)),
    "spread columns": (Case(lens=(90,), q=(30,), **TARGET), replace(SMALL, spread=True)),
}


@pytest.mark.parametrize(("fmt", "scores"), WAYS)
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, fmt: str, scores: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt=fmt, layout="planar" if scores == "exact8" else "inline"), config, scores) is None


@pytest.mark.parametrize("layout", ["inline", "planar"])
@pytest.mark.parametrize("name", ["ragged, verify rows between", "page larger than tile", "page smaller than tile",
                                  "head-major pages", "padded pages"])
def test_layouts(name: str, layout: str) -> None:
    case, config = CASES[name]
    assert run(replace(case, fmt="int8", layout=layout), config, "exact8") is None


def test_exact8_is_what_the_verify_step_computes() -> None:
    """Both references are the same function of the cache: speculation is judged by the logits that prefill would give."""
    batch = make_batch(Case(fmt="int8", lens=(60, 20), q=(7, 20), **SLIM))
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")}
    assert torch.allclose(prefill_attention_ref(*batch.args(), **how, scores="exact8"),
                          verify_attention_ref(*batch.args(), **batch.kwargs), atol=1e-6)


def test_short_requests_are_left_alone() -> None:
    """What another kernel has written, or will write, stays."""
    case = Case(fmt="int8", lens=(60, 70, 33), q=(4, 30, 5), **SLIM)
    batch = make_batch(case, DEVICE)
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")}
    prefill_attention(*batch.args(), batch.out, config=SMALL, scores="exact8", longer_than=4, **how)
    assert batch.out[:4].isnan().all()
    ref = prefill_attention_ref(*batch.args(), scores="exact8", longer_than=4, **how)
    assert torch.count_nonzero(ref[:4]) == 0
    assert why_wrong(batch.out[4:], ref[4:], batch.max_v) is None


def test_a_query_that_sees_no_key_gets_zeros() -> None:
    """A dummy batch has one key a request and more queries than that."""
    batch = make_batch(Case(fmt="int8", lens=(1, 0), q=(40, 3), **SLIM), DEVICE)
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")}
    prefill_attention(*batch.args(), batch.out, config=SMALL, scores="exact8", **how)
    assert torch.count_nonzero(batch.out[:39]) == 0 and torch.count_nonzero(batch.out[40:]) == 0
    own = batch.cache.values()[batch.block_table[0, 0].long(), 0].float() * batch.cache.value_scales()[
        batch.block_table[0, 0].long(), 0, :, None]
    assert torch.allclose(batch.out[39].float(), own.expand(2, -1), atol=2**-6)


def test_rows_beyond_the_last_request_are_not_written() -> None:
    case = Case(fmt="bf16", lens=(60,), q=(30,), **SLIM)
    batch = make_batch(case, DEVICE)
    longer = torch.cat([batch.q, torch.full((9, 2, 128), float("nan"), dtype=batch.q.dtype, device=DEVICE)])
    out = torch.full(longer.shape, 7.0, dtype=batch.q.dtype, device=DEVICE)
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")}
    prefill_attention(longer, *batch.args()[1:], out, config=SMALL, **how)
    assert (out[30:] == 7.0).all()
    assert why_wrong(out[:30], prefill_attention_ref(*batch.args(), **how), batch.max_v) is None


@pytest.mark.parametrize(("fields", "fmt", "words"), [
    (dict(scores="exact8"), "bf16", "int8 cache"), (dict(scores="int4"), "int8", "int4"), (dict(scale=0.0), "int8", "scale"),
    (dict(k_scale=None), "fp8", "k_scale"), (dict(config=PrefillConfig(rows=16)), "bf16", None)])
def test_what_it_refuses(fields: dict[str, object], fmt: str, words: str | None) -> None:
    heads = 16 if words else 34
    batch = make_batch(Case(fmt=fmt, lens=(9,), q=(3,), num_heads=heads, num_kv_heads=1 if words else 2, head_size=128))
    how = {k: v for k, v in batch.kwargs.items() if k not in ("causal", "window")} | dict(config=SMALL) | fields
    with pytest.raises(ValueError, match=words or "group"):
        prefill_attention(*batch.args(), batch.out, **how)


@pytest.mark.parametrize("fields", [dict(rows=48), dict(warps=3), dict(lazy=9), dict(lazy=4, sum16=True, tile=64),
                                    dict(lazy=3, sum16=True, tile=128)])
def test_configs_that_cannot_be_right(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        PrefillConfig(**fields)  # type: ignore[arg-type]
