# SPDX-License-Identifier: Apache-2.0
"""The sampler's measurement: what stays of the logits is the same whichever way is timed."""

from __future__ import annotations

import pytest
import torch
from test_bench import once

from splitverify.bench import two_stage_sampler
from splitverify.bench.bench_sampler import SETTINGS, by_sort, logits_of, measure_sampler, sampler_table
from splitverify.bench.two_stage_sampler import candidates

VOCAB = 300
"""In parts of 64: the interpreter takes a second to sort a thousand."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_stage_sampler, "PART", 64)


@pytest.mark.parametrize("kind", ["normal", "peaked"])
def test_two_stages_leave_what_the_sort_leaves(kind: str) -> None:
    records = [r for r in measure_sampler(once, 2, kind, SETTINGS[0], device=DEVICE, vocab=VOCAB) if r["way"] != "vLLM"]
    assert [r["way"].split(" of ")[0] for r in records] == ["torch sort", "two stages"]
    assert all(r["wrong"] is None and r["differ"] == 0 for r in records)
    assert sampler_table(records).count("\n") == 2


def test_top_p_alone_is_left_to_the_others() -> None:
    names = [r["way"] for r in measure_sampler(once, 1, "normal", SETTINGS[2], device=DEVICE, vocab=VOCAB)]
    assert "two stages of 32" not in names and "torch sort" in names


def test_tokens_are_drawn_in_proportion() -> None:
    """Two candidates, one three times as likely as the other."""
    logits = torch.full((1, VOCAB), -50.0, device=DEVICE)
    logits[0, 17], logits[0, 290] = 1.0, 1.0 + torch.log(torch.tensor(3.0))
    k, p = torch.tensor([2], dtype=torch.int32, device=DEVICE), torch.ones(1, device=DEVICE)
    drawn = [int(candidates(logits, k, p, 32, seed)[1]) for seed in range(10)]
    assert set(drawn) == {17, 290} and 4 <= drawn.count(290)
    assert torch.isfinite(by_sort(logits, k, None)).sum() == 2


def test_logits_are_the_same_each_time() -> None:
    assert torch.equal(logits_of("peaked", 3, 500, DEVICE), logits_of("peaked", 3, 500, DEVICE))
