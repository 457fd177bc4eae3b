# SPDX-License-Identifier: Apache-2.0
"""The prefill's benchmark, stress run, selection and tables, without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from test_bench import once

from splitverify.bench import Wrong, bench_prefill_attention, prefill
from splitverify.bench.bench_prefill_attention import measure_prefill, operations
from splitverify.cases import Case
from splitverify.ops.prefill_config import SCORES, PrefillConfig
from splitverify.prefill_selection import load_prefill_table, select_prefill
from splitverify.selection import ARCHITECTURES, NoTable
from splitverify.stress_prefill import random_failures
from splitverify.untuned_prefill import KINDS, LAYERS

SMALL = PrefillConfig(rows=64, tile=32, warps=4, stages=1)
CASE = Case(lens=(80,), q=(40,), num_heads=2, num_kv_heads=1, head_size=128)


def test_each_way_is_measured_after_it_is_right() -> None:
    rows = list(measure_prefill(CASE, ["plain", "int8"], once, peers=False, device="cpu", config=SMALL))
    assert [r["kernel"] for r in rows] == ["splitverify plain", "splitverify int8"]
    assert all(r["us"] == 2.0 and r["tflops"] == operations(CASE) / 2e6 for r in rows)
    assert rows[0]["error"] < rows[1]["error"] < 0.1


def test_operations_are_of_visible_keys() -> None:
    assert operations(Case(lens=(3,), q=(2,), num_heads=1, num_kv_heads=1, head_size=1)) == 4 * (2 + 3)


def test_no_speed_of_a_wrong_prefill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_prefill_attention, "prefill_attention", lambda *args, **kwargs: None)
    with pytest.raises(Wrong, match="not finite"):
        list(measure_prefill(CASE, ["plain"], once, peers=False, device="cpu", config=SMALL))


def pretend(monkeypatch: pytest.MonkeyPatch, measure: Any) -> None:
    """A machine with a GPU, as far as the command's own lines see it."""
    from splitverify.bench import timing

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(timing, "Timer", lambda: once)
    monkeypatch.setattr(bench_prefill_attention, "measure_prefill", measure)


def row(case: Case, kernel: str, us: float, **fields: Any) -> dict[str, Any]:
    return dict(fmt=case.fmt, layout=case.layout, length=case.lens[0], kernel=kernel, us=us, tflops=77.0, **fields)


def test_the_command_leaves_a_table_and_records(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                                tmp_path: Path) -> None:
    def measure(case: Case, ways: list[str], timer: Any, peers: bool) -> Any:
        yield row(case, f"splitverify {ways[0]}", 1234.0)
        yield row(case, "FA3", 2000.0, wrong="by much")
        yield dict(fmt=case.fmt, kernel="cuDNN", absent="ImportError: no")
    pretend(monkeypatch, measure)
    assert prefill.main(["--out", str(tmp_path), "--lengths", "4096,16384"]) == 0
    out = capsys.readouterr().out
    assert "| KV | layout | kernel | 4,096 | 16,384 |" in out
    assert "| int8 | planar | splitverify exact8 | 1.234 (77) | 1.234 (77) |" in out
    assert "| bf16 | inline | FA3 | 2.000 (77) wrong | 2.000 (77) wrong |" in out and "absent: cuDNN bf16: ImportError" in out
    assert len([json.loads(x) for x in (tmp_path / "prefill.jsonl").read_text().splitlines()]) == 2 * 4 * 3


def test_the_command_prints_no_speed_while_a_result_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    def measure(case: Case, ways: list[str], timer: Any, peers: bool) -> Any:
        yield row(case, "splitverify plain", 88.0)
        raise Wrong("this one is wrong")
    pretend(monkeypatch, measure)
    assert prefill.main(["--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err == "WRONG, no speeds: this one is wrong\n" and "0.088" not in said.out
    assert not (tmp_path / "prefill.md").exists()


@pytest.mark.parametrize("module", ["splitverify.bench.prefill", "splitverify.tune_prefill"])
def test_without_a_gpu_it_says_so(module: str, tmp_path: Path) -> None:
    more = ["--out", str(tmp_path / "x")] if "tune" in module else []
    done = subprocess.run([sys.executable, "-m", module, *more], capture_output=True, text=True,
                          cwd=Path(__file__).parent.parent, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 2 and "GPU" in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_random_batches() -> None:
    """A few of the stress run's, short ones, because the interpreter takes seconds each."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert list(random_failures(4, seed=3, device=device, longest=30)) == [None] * 4


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kind_has_a_config(arch: int) -> None:
    for size in LAYERS:
        for fmt, layout, scores in KINDS:
            choice = select_prefill(divmod(arch, 10), head_size=size, fmt=fmt, layout=layout, scores=scores)
            assert choice.config.rows >= 16 and ("not measured" in choice.why()) == (choice.measured is None)
    for row in load_prefill_table(f"sm_{arch}"):
        PrefillConfig(**row["config"])
        assert row["scores"] in SCORES


def test_what_no_table_has() -> None:
    with pytest.raises(NoTable, match="head size 64"):
        select_prefill((9, 0), head_size=64, fmt="bf16", layout="inline", scores="plain")
    with pytest.raises(NoTable, match="below 8.0"):
        select_prefill((7, 5), head_size=128, fmt="bf16", layout="inline", scores="plain")
