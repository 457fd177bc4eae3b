# SPDX-License-Identifier: Apache-2.0
"""The doctor on a machine without a GPU: what it says, how it ends."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from splitverify import doctor


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "splitverify.doctor", *arguments], capture_output=True, text=True,
                          cwd=Path(__file__).parent.parent,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment})


def test_without_a_gpu() -> None:
    done = run("--gpu", "8.6:82")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert lines[0] == "interpreter: ok"
    chosen = [line for line in lines if line.startswith(("target", "drafter"))]
    assert len(chosen) == 24 and all("not measured" in line for line in chosen)
    assert sum(line.startswith("prefill ") and "not measured" in line for line in lines) == 10
    assert lines[-1] == "plugin: off, vLLM is not installed"


def test_nothing_is_claimed_of_a_gpu_that_is_not_there(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "in_interpreter", lambda: [])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert doctor.main([]) == 0
    assert "no GPU: nothing was run on one" in capsys.readouterr().out


def test_what_is_wrong_is_said_and_ends_with_1(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "in_interpreter", lambda: ["store, int8: bytes differ from the reference"])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert doctor.main([]) == 1
    out = capsys.readouterr().out
    assert "interpreter: WRONG" in out and out.endswith("WRONG store, int8: bytes differ from the reference\n")


def test_a_check_that_does_not_run_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "did not run" in doctor.in_interpreter()[0]


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert doctor.main([]) == 1
    assert capsys.readouterr().out == "not installed: torch, triton; nothing was checked\n"


def test_an_unknown_gpu_gets_a_reason_and_a_bad_word_a_usage() -> None:
    assert all("none, " in line for line in doctor.choices((7, 5), 40, 4096))
    for text in ("8.6", "a:b", "8.6:0"):
        with pytest.raises(SystemExit) as stop:
            doctor.main(["--gpu", text])
        assert stop.value.code == 2
