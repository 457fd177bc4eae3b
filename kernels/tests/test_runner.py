# SPDX-License-Identifier: Apache-2.0
"""Which kernels the layer's runner takes for a batch, and that any way gives the reference's result."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch

from splitverify.cases import Case, make_batch, why_wrong
from splitverify.ops.limits import MAX_QUERY_LEN
from splitverify.ops.verify_attention_ref import verify_attention_ref
from splitverify.plugin import runner as runner_module
from splitverify.plugin.batches import in_pieces, short_requests
from splitverify.plugin.runner import LayerRunner, scores_of

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = {"bf16": "auto", "int8": "int8_per_token_head", "fp8": "fp8"}
SLIM: dict[str, Any] = dict(num_heads=2, num_kv_heads=1, head_size=128)


def runner_of(monkeypatch: pytest.MonkeyPatch, fmt: str, multiprocessors: int = 4, query_max: int = 8) -> LayerRunner:
    """A layer's runner on a made-up GPU."""
    monkeypatch.setattr(runner_module, "_SCRATCH", {})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: types.SimpleNamespace(
        major=9, minor=0, multi_processor_count=multiprocessors))
    return LayerRunner(**SLIM, scale=128 ** -0.5, kv_cache_dtype=DTYPES[fmt], layout="planar" if fmt == "int8" else "inline",
                       window=0, query_max=query_max, max_length=200, device=torch.device(DEVICE))


def attend(runner: LayerRunner, case: Case) -> str | None:
    """Why the runner's result is wrong, or None."""
    batch = make_batch(case, DEVICE)
    runner.scratch.acc.fill_(float("nan"))
    runner.scratch.ml.fill_(float("nan"))
    one = torch.ones(1, device=DEVICE)
    runner.attend(batch.q, batch.kv_cache, batch.block_table, batch.seq_lens, batch.query_start_loc, batch.out, max(case.q),
                  True, batch.kwargs.get("k_scale", one), batch.kwargs.get("v_scale", one))  # type: ignore[arg-type]
    return why_wrong(batch.out, verify_attention_ref(*batch.args(), **batch.kwargs), batch.max_v)  # type: ignore[arg-type]


@pytest.mark.parametrize("fmt", ["int8", "bf16"])
@pytest.mark.parametrize(("lens", "q"), [((90, 40, 120, 9), (4, 30, 8, 0)), ((40, 90, 17), (30, 2, 17))])
def test_mixed_batches(monkeypatch: pytest.MonkeyPatch, fmt: str, lens: tuple[int, ...], q: tuple[int, ...]) -> None:
    """Verify steps before and after prefills. Some of them lie where the split kernel's workspace has no slots left."""
    runner = runner_of(monkeypatch, fmt)
    assert runner.way(sum(q), max(q), len(q), True) == "mixed"
    assert attend(runner, Case(fmt=fmt, layout=runner.layout, lens=lens, q=q, **SLIM)) is None


def test_a_verify_step_beyond_the_slots_is_the_prefill_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = runner_of(monkeypatch, "bf16", multiprocessors=16)
    case = Case(lens=(400, 100, 20), q=(400, 5, 20), **SLIM)
    held = runner.slots // runner.config(min(425, 3 * 8), 8, 3).segments
    assert runner.way(425, 400, 3, True) == "mixed" and held < 400
    assert attend(runner, case) is None


def test_a_suffix_behind_a_context_is_split_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = runner_of(monkeypatch, "int8", multiprocessors=132, query_max=16)
    assert runner.way(70, 70, 1, True) == "pieces" and runner.way(40, 40, 2, True) == "split"
    assert runner.way(5000, 5000, 1, True) == "prefill" and runner.way(16, 16, 1, True) == "split"
    assert runner.config(70, MAX_QUERY_LEN, 2).segments > 1
    assert attend(runner, Case(fmt="int8", layout="planar", lens=(150,), q=(70,), **SLIM)) is None


def test_pieces_share_the_pages_and_end_where_the_request_ends() -> None:
    table, lens, starts = in_pieces(torch.tensor([300]), torch.tensor([0, 100], dtype=torch.int32), torch.arange(7)[None],
                                    tokens=130, piece=64)
    assert starts.tolist() == [0, 64, 100, 100] and lens.tolist() == [264, 300, 300] and table.shape == (3, 7)
    assert table.stride(0) == 0


def test_short_requests_lie_within_the_slots() -> None:
    lens, starts = short_requests(torch.tensor([50, 60, 70]), torch.tensor([0, 4, 30, 38]), longest=8, slots=33)
    assert lens.tolist() == [50, 0, 70] and starts.tolist() == [0, 4, 30, 33]


def test_scores_follow_the_switch() -> None:
    assert [scores_of(fmt, None) for fmt in (0, 1, 2)] == ["plain", "plain", "exact8"]
    assert [scores_of(2, asked) for asked in ("int8", "fp16")] == ["int8", "plain"]
