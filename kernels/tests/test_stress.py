# SPDX-License-Identifier: Apache-2.0
"""The random batches: what is drawn, that it can be drawn again, and that a wrong kernel is noticed. No GPU is needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

import splitverify.ops.verify_attention as verify_attention_module
from splitverify import stress
from splitverify.cases import Case, make_batch, poisoned_scratch
from splitverify.ops.config import KernelConfig
from splitverify.ops.limits import MAX_QUERY_LEN
from splitverify.ops.verify_attention import verify_attention
from splitverify.stress import Stress, parse_share
from splitverify.stress_draw import KERNELS, KINDS, kernels_of

HOPPER, AMPERE = (9, 0), (8, 6)
SMALL = Case(fmt="int8", layout="planar", lens=(20, 5), q=(2, 1), num_heads=2, num_kv_heads=1, head_size=128)
CONFIGS = {"split": KernelConfig(16, 16, segments=2, stages=1),
           "raw keys": KernelConfig(16, 16, segments=2, stages=1, turned=True, raw_keys=True)}


def test_every_batch_of_8_bits_goes_through_every_kernel() -> None:
    drawn = [Stress(3, capability=HOPPER).draw(n) for n in range(400)]
    formats = Counter(case.fmt for case, _ in drawn)
    assert formats["int8"] + formats["fp8"] > 250 and formats["bf16"] > 60
    for case, configs in drawn:
        assert tuple(configs) == (KERNELS if case.fmt != "bf16" else ("split",))
        assert [(c.turned, c.raw_keys) for c in configs.values()] == [(False, False), (True, False), (True, True)][:len(configs)]


def test_what_is_drawn_covers_sizes_layouts_masks_and_lengths() -> None:
    drawn = [case for case, _ in (Stress(1, capability=HOPPER).draw(n) for n in range(1500))]
    assert {(c.fmt, c.layout) for c in drawn} == {("bf16", "inline"), ("fp8", "inline"), ("int8", "inline"), ("int8", "planar")}
    assert {c.head_size for c in drawn} == {128, 256}
    assert {c.num_heads // c.num_kv_heads for c in drawn} == {1, 4, 5, 6, 8, 16}
    assert {c.window for c in drawn} == {0, 128, 2048} and {c.causal for c in drawn} == {True, False}
    assert {max(c.q) for c in drawn} >= set(range(1, 17)) and max(max(c.q) for c in drawn) > 48
    assert max(max(c.q) for c in drawn) <= MAX_QUERY_LEN and any(0 in c.q for c in drawn)
    assert {c.head_major for c in drawn} == {True, False} and {c.page_padding for c in drawn} == {0, 1024}


def test_any_batch_can_be_drawn_again_and_shares_part_the_kinds() -> None:
    one, again = Stress(7, (2, 3), HOPPER), Stress(7, (2, 3), HOPPER)
    assert [one.draw(n) for n in (90, 4)] == [again.draw(n) for n in (90, 4)]
    shares = [Stress(1, (i, 3), HOPPER).own for i in (1, 2, 3)]
    assert sum(map(len, shares)) == sum(KINDS.values())
    assert not any(kind in other for kind in shares[0] for other in shares[1:])


def test_no_e4m3_multiplication_is_asked_of_a_gpu_without_one() -> None:
    assert kernels_of("fp8", AMPERE) == ("split", "turned") and kernels_of("int8", AMPERE) == KERNELS
    for case, configs in (Stress(1, capability=AMPERE).draw(n) for n in range(300)):
        assert case.fmt != "fp8" or not any(c.raw_keys or c.decode == "native" for c in configs.values())


@pytest.mark.parametrize(("version", "interpreted", "runs"), [
    ("3.6.0", False, False), ("3.8.1", False, False), ("3.9.0", False, True), ("3.10.0+git1", False, True), ("3.6.0", True, True)])
def test_raw_keys_run_only_where_they_are_fenced(monkeypatch: pytest.MonkeyPatch, version: str, interpreted: bool,
                                                 runs: bool) -> None:
    monkeypatch.setattr(verify_attention_module.triton, "__version__", version)
    monkeypatch.setattr(verify_attention_module, "interpreting", lambda: interpreted)
    assert all((k in kernels_of(fmt, HOPPER)) == (runs or k != "raw keys") for fmt in ("int8", "fp8") for k in KERNELS)
    if not runs:
        batch = make_batch(SMALL, "cpu")
        with pytest.raises(ValueError, match=f"raw keys need triton 3.9 or later: triton {version}"):
            verify_attention(*batch.args(), batch.out, poisoned_scratch(3, 2, 128, 2, "cpu"), max_query_len=2,
                             config=CONFIGS["raw keys"], **batch.kwargs)  # type: ignore[arg-type]


def drawing(monkeypatch: pytest.MonkeyPatch, case: Case = SMALL) -> Stress:
    monkeypatch.setattr(Stress, "draw", lambda self, number: (case, CONFIGS))
    return Stress(5, (1, 2), HOPPER)


def test_a_batch_runs_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = drawing(monkeypatch)
    assert one.run(0, "cpu") == []
    assert one.ran == {"split": 1, "raw keys": 1, "int8 split": 1, "int8 raw keys": 1}


def test_a_wrong_kernel_is_noticed_and_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = drawing(monkeypatch)
    real = stress.verify_attention

    def wrong(*args: object, **kwargs: object) -> torch.Tensor:
        out: torch.Tensor = real(*args, **kwargs)  # type: ignore[arg-type]
        if kwargs["config"].raw_keys:  # type: ignore[attr-defined]
            out[-1] += 1.0
        return out
    monkeypatch.setattr(stress, "verify_attention", wrong)
    found = one.run(12, "cpu")
    assert len(found) == 1 and found[0].startswith("--seed 5 --share 1/2 --only 12: raw keys: largest error")
    assert repr(CONFIGS["raw keys"]) in found[0] and repr(SMALL) in found[0]


def test_a_kernel_that_is_not_the_same_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = drawing(monkeypatch, replace(SMALL, lens=(3,), q=(1,)))
    calls = iter(range(9))

    def moving(q: torch.Tensor, cache: object, table: object, lens: object, starts: object, out: torch.Tensor, *_: object,
               **kwargs: object) -> torch.Tensor:
        return out.fill_(next(calls))
    monkeypatch.setattr(stress, "verify_attention", moving)
    assert all("two runs differ" in line for line in one.run(0, "cpu")) and len(one.run(0, "cpu")) == 2


def test_a_kernel_that_does_not_compile_is_wrong_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    one, real = drawing(monkeypatch), stress.run_batch

    def failing(batch: object, config: KernelConfig, *rest: object) -> str | None:
        if not config.turned:
            raise ValueError("no such instruction")
        return real(batch, config, *rest)  # type: ignore[arg-type]
    monkeypatch.setattr(stress, "run_batch", failing)
    (line,) = one.run(1, "cpu")
    assert "--only 1: split: ValueError: no such instruction" in line and one.ran["raw keys"] == 1


def test_a_fault_of_the_gpu_says_in_which_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*args: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    monkeypatch.setattr(stress, "run_batch", fault)
    with pytest.raises(RuntimeError, match="WRONG --seed 5 --share 1/2 --only 3: split: Case"):
        drawing(monkeypatch).run(3, "cpu")


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b"])
def test_a_share_that_is_none(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stress.main(["--share", text])
    assert "is not like 2/12" in capsys.readouterr().err
    assert parse_share("2/12") == (2, 12)
