# SPDX-License-Identifier: Apache-2.0
"""Machine code of another triton: what is built is found again by the launch that asks for it. No GPU is needed."""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from splitverify.bench import elsewhere
from splitverify.cases import make_batch, poisoned_scratch
from splitverify.crosscompile import Resources
from splitverify.ops import verify_attention as launcher
from splitverify.ops.config import KernelConfig

CONFIG = KernelConfig(64, 16, 0, 4, 3, 7, "packed", turned=True)


class Driver:
    """Stands in for the CUDA driver; keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments)) or 0  # type: ignore[func-returns-value]


def pretend(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": 0}))
    monkeypatch.setattr(launcher, "interpreting", lambda: False)
    monkeypatch.setattr(elsewhere, "compile_launch", lambda launch, arch: Resources(255, 0, 90 << 10, arch, cubin=b"code"))
    return driver


@pytest.mark.parametrize(("fmt", "turned"), [("int8", True), ("fp8", True), ("fp8", False)])
def test_a_launch_finds_what_was_built_for_it(fmt: str, turned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from splitverify.tune import verify_case

    driver = pretend(monkeypatch)
    case = replace(verify_case(fmt, 2, 70))
    config = replace(CONFIG, turned=turned)
    assert "255 registers" in elsewhere.build_one((case, replace(config, segments=2), 90, tmp_path))
    prebuilt = elsewhere.Prebuilt(tmp_path)
    assert prebuilt.has(case, config) and not prebuilt.has(case, replace(config, tile=32))
    monkeypatch.setattr(launcher, "turned_attention" if turned else "split_attention", prebuilt)
    monkeypatch.setattr(launcher, "combine", type("Nothing", (), {"__class_getitem__": lambda cls, grid: lambda *a, **k: None}))
    batch = make_batch(case)
    launcher.verify_attention(*batch.args(), batch.out, poisoned_scratch(2, 24, 256, 7), max_query_len=2, config=config,
                              **batch.kwargs)
    (launch,) = [call for call in driver.calls if call[0] == "cuLaunchKernel"]
    assert launch[2:9] == (7, 4, 1, 128, 1, 1, 90 << 10)
    assert ("cuFuncSetAttribute", 8, 90 << 10) in [(c[0], *c[2:]) for c in driver.calls]
    about = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert len(about["types"]) == 21 and about["entry"] == ("turned_attention" if turned else "split_attention")


def test_an_error_of_the_driver_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch)
    prebuilt = elsewhere.Prebuilt(tmp_path)
    monkeypatch.setattr(prebuilt, "driver", type("Failing", (), {"cuLaunchKernel": staticmethod(lambda: 700)}))
    with pytest.raises(RuntimeError, match="cuLaunchKernel: CUDA driver error 700"):
        prebuilt.call("cuLaunchKernel")


def test_without_a_gpu_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert elsewhere.main(["time", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err == "timing needs a GPU\n"
