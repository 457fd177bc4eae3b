# SPDX-License-Identifier: Apache-2.0
"""What stands on the prefill's pages: the report of records, the numerics study, the bound from machine code, mixed batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_bench import once
from test_runner import runner_of

from splitverify.bench import Wrong, mixed, prefill_report
from splitverify.bound import Loop, loops, milliseconds
from splitverify.cases import Case
from splitverify.numerics import WAYS, Model, Way, attention, cached, data, layer_lines, model_lines
from splitverify.ops.prefill_config import PrefillConfig


def test_the_page_has_every_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = dict(fmt="int8", layout="planar", chunk=2048, gpu="a GPU", tflops=7.0)
    rows: list[dict[str, Any]] = [
        dict(common, kernel=kernel, length=n, us=us * n / 4096, **({"error": 1e-3} if kernel.startswith("split") else {}))
        for kernel, us in (("splitverify exact8", 500.0), ("vLLM unified", 6000.0)) for n in (4096, 16384)]
    (tmp_path / "prefill.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "gpu.txt").write_text("a GPU, 35 degrees\n")
    (tmp_path / "notes.txt").write_text("A note.\n")
    (tmp_path / "stress_prefill.txt").write_text("7 random prefill batches, 1 wrong\n3 random prefill batches, 0 wrong\n"
                                                 "int8 prefill: pool beyond 2**31: 0 wrong\n")
    (tmp_path / "mixed.jsonl").write_text(json.dumps(dict(fmt="int8", lens=[9000, 50], q=[8, 50], way="mixed", us=3.0,
                                                          prefill_us=9.0)) + "\n")
    assert prefill_report.main([str(tmp_path)]) == 0
    page = capsys.readouterr().out
    for words in ("| int8 | planar | splitverify exact8 | 0.500 (7) | 2.000 (7) |", "| exact8 | vLLM unified | 12.00 | 12.00 |",
                  "| int8, planar | exact8 | 1.0e-03 |", "| int8 | 9,000, 50 | 8, 50 | mixed | 3 | 9 |",
                  "reference: 10, of them 1 wrong", "A note.", "35 degrees"):
        assert words in page, words
    assert prefill_report.main([str(tmp_path / "nothing")]) == 1


def test_the_samplers_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [dict(rows=1, logits="normal", setting="top-k 20", way=way, mask_us=us, sample_us=us + 100, wrong=None)
            for way, us in (("splitverify", 20.0), ("vLLM", 50.0))]
    (tmp_path / "sampler.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "gpu.txt").write_text("a GPU\n")
    assert prefill_report.main([str(tmp_path), "--sampler"]) == 0
    said = capsys.readouterr().out
    assert "2.5 to 2.5 times" in said and "| top-k 20 | normal | 1 | 20 | 50 | 120 | 150 |" in said


def test_numerics_tell_the_ways_apart() -> None:
    """On one layer: two terms are as good as none, one term is not, and the emulated mask is causal."""
    q, k, v = data("peaked", length=512, rows=16)
    (k8, k_scale), (v8, v_scale) = cached(k, "int8"), cached(v, "int8")
    exact = torch.softmax(q.double() @ (k8 * k_scale).double().T / 16, -1) @ (v8 * v_scale).double()
    plain, two, one = (float((attention(q, k, v, Way("int8", scores)) - exact).abs().max())
                       for scores in ("plain", "exact8", "int8"))
    assert max(plain, two) < 0.01 < one
    see = torch.ones(16, 16, dtype=torch.bool).tril()
    masked = attention(q, k[:16], v[:16], Way("exact", "plain"), see)
    assert torch.allclose(masked[0], v[0], atol=1e-6)
    assert len(list(layer_lines(("normal",), length=256, rows=4, size=64))) == 2 + len(WAYS)


def test_the_small_model_depends_on_the_way_little_and_on_the_future_not() -> None:
    sizes = dict(layers=1, width=32, heads=2, kv_heads=1, size=32, vocab=50)
    assert len(list(model_lines(length=24, seeds=1, **sizes))) == 2 + len(WAYS)
    model, tokens = Model(**sizes), torch.arange(20)
    full, part = model.logits(tokens, Way("exact", "plain")), model.logits(tokens[:9], Way("exact", "plain"))
    assert torch.allclose(full[:9], part, atol=1e-4)
    assert not torch.equal(full, model.logits(tokens, Way("int8", "int8")))


def test_cycles_of_a_loop() -> None:
    """One tile of 64 rows and 64 keys of 256: 1,048,576 products for each of q K and P V."""
    loop = Loop({"IMMA.16832": 64, "HMMA.16816.F16": 64}, others=800)
    assert loop.matrix_cycles(8) == 2 * 1048576 / 1024 + 1048576 / 512 and loop.issue_cycles(8) == 1600
    config = PrefillConfig(rows=64, tile=64)
    assert milliseconds(1.695e9, config, group=6, kv_heads=1, keys=64, chunk=10) == pytest.approx(1e3 / 82)
    assert milliseconds(1.0, config, 6, 4, 16384) > milliseconds(1.0, config, 6, 4, 4096)


def test_loops_of_a_disassembly() -> None:
    sass = "\n".join([".L_x_1:", " /*0000*/ IADD3 R1, R2 ;", " /*0010*/ @P0 BRA `(.L_x_1) ;", ".L_x_2:",
                      " /*0020*/ IMMA.16832.S8.S8 R1 ;", " /*0030*/ HMMA.16816.F32 R2 ;", " /*0040*/ @!P1 BRA `(.L_x_2) ;"])
    (found,) = loops(sass)
    assert found == {"IMMA.16832.S8.S8": 1, "HMMA.16816.F32": 1, "BRA": 1}


def test_mixed_batches_are_compared_before_they_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = runner_of(monkeypatch, "bf16")
    case = Case(lens=(60, 40), q=(4, 30), num_heads=2, num_kv_heads=1, head_size=128)
    row = mixed.measure_batch(runner, case, once, "cpu")
    assert row["way"] == "mixed" and row["us"] == 2.0 and runner.way(34, 30, 2, True) == "mixed"
    monkeypatch.setattr("splitverify.plugin.runner.prefill_attention", lambda *args, **kwargs: None)
    with pytest.raises(Wrong, match="differ"):
        mixed.measure_batch(runner, case, once, "cpu")
