# SPDX-License-Identifier: Apache-2.0
"""K6 against its reference, what it leaves to another kernel, and its benchmark."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_bench import once

from splitverify.bench.bench_top_k_top_p import SETTINGS, logits_of, measure_sampler, sampler_table
from splitverify.ops import top_k_top_p as module
from splitverify.ops.top_k_top_p import top_k_top_p
from splitverify.ops.top_k_top_p_ref import top_k_top_p_ref
from splitverify.plugin.sampler import with_ours

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCAB = 300


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 64: the interpreter takes a second to sort a thousand."""
    monkeypatch.setattr(module, "PART", 64)


def tensors(k: list[int], p: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(k, dtype=torch.int32, device=DEVICE), torch.tensor(p, device=DEVICE)


def test_what_stays_is_what_the_reference_leaves() -> None:
    """Rows of every kind in one batch, those that are somebody else's among them."""
    k, p = tensors([1, 20, 32, 20, 33, VOCAB], [1.0, 0.9, 0.5, 0.0, 0.9, 0.9])
    logits = logits_of("normal", 6, VOCAB, DEVICE)
    expected = top_k_top_p_ref(logits, k, p)
    got = logits.clone()
    k_left, p_left = top_k_top_p(got, k, p)
    assert torch.equal(got[:4], expected[:4]) and torch.equal(got[4:], logits[4:])
    assert k_left.tolist() == [VOCAB] * 4 + [33, VOCAB]
    assert p_left is not None and p_left.tolist() == pytest.approx([1.0] * 4 + [0.9, 0.9])


def test_without_a_nucleus() -> None:
    k, _ = tensors([5, 31], [])
    logits = logits_of("peaked", 2, VOCAB, DEVICE)
    got = logits.clone()
    k_left, p_left = top_k_top_p(got, k, None)
    assert torch.equal(got, top_k_top_p_ref(logits, k, None)) and p_left is None and k_left.tolist() == [VOCAB] * 2


def test_rows_of_a_wider_tensor() -> None:
    k, p = tensors([7], [0.8])
    wide = logits_of("normal", 1, 2 * VOCAB, DEVICE)
    expected = top_k_top_p_ref(wide[:, :VOCAB], k, p)
    rest = wide[:, VOCAB:].clone()
    top_k_top_p(wide[:, :VOCAB], k, p)
    assert torch.equal(wide[:, :VOCAB], expected) and torch.equal(wide[:, VOCAB:], rest)


def test_ties_grammars_and_numbers_that_are_none() -> None:
    """A few ties of the kth stay; endless ties, fewer finite logits than k, NaN and inf are left alone."""
    k, p = tensors([4, 4, 20, 4, 4], [1.0, 0.9, 0.9, 0.9, 0.9])
    logits = torch.arange(VOCAB, dtype=torch.float32, device=DEVICE).repeat(5, 1) / 10
    logits[0, :6] = float(logits[0, -4])                           # seven of the kth value
    logits[1] = 1.0
    logits[2, 5:] = float("-inf")
    logits[3, 9] = float("nan")
    logits[4, 9] = float("inf")
    got = logits.clone()
    k_left, _ = top_k_top_p(got, k, p)
    assert k_left.tolist() == [VOCAB, 4, 20, 4, 4]
    assert torch.equal(got[0], top_k_top_p_ref(logits[:1], k[:1], None)[0]) and int(torch.isfinite(got[0]).sum()) == 10
    assert torch.equal(torch.nan_to_num(got[1:]), torch.nan_to_num(logits[1:]))


def test_the_plugin_hands_on_what_is_left() -> None:
    seen: list[Any] = []

    def theirs(logits: torch.Tensor, k: Any, p: Any) -> torch.Tensor:
        seen.append((k, p))
        return top_k_top_p_ref(logits, k, p)

    k, p = tensors([3, 40], [0.9, 0.9])
    logits = logits_of("normal", 2, VOCAB, DEVICE)
    got = with_ours(theirs)(logits.clone(), k.long(), p)
    assert torch.equal(got, top_k_top_p_ref(logits, k, p)) and seen[0][0].tolist() == [VOCAB, 40]
    with_ours(theirs)(logits.clone(), None, p)
    assert seen[1] == (None, p)


@pytest.mark.parametrize("bad", [dict(logits=torch.zeros(2, 8).half()), dict(k=torch.zeros(3, dtype=torch.int32)),
                                 dict(p=torch.zeros(2, dtype=torch.float64))])
def test_what_it_refuses(bad: dict[str, torch.Tensor]) -> None:
    arguments = dict(logits=torch.zeros(2, 8), k=torch.ones(2, dtype=torch.int32), p=torch.ones(2)) | bad
    with pytest.raises(ValueError, match="must be"):
        top_k_top_p(**arguments)


def test_the_benchmark_compares_before_it_times() -> None:
    records = [r for r in measure_sampler(once, 1, "peaked", SETTINGS[0], device=DEVICE, vocab=130) if r["way"] != "vLLM"]
    assert [r["way"] for r in records] == ["torch sort", "splitverify", "splitverify alone"]
    assert all(r["wrong"] is None and r["differ"] == 0 for r in records)
    assert sampler_table(records).count("\n") == 2
