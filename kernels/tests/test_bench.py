# SPDX-License-Identifier: Apache-2.0
"""The benchmark: correctness before speed, its tables and plot, and what it says where it cannot run."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from splitverify.bench import Wrong, __main__, bench_quantize_store, bench_verify_attention, report, timing
from splitverify.bench.bench_quantize_store import measure_store, moved_bytes
from splitverify.cases import Case

STORE = Case(num_kv_heads=2, head_size=128, block_size=16)


def once(call: Any, **_: Any) -> timing.Timing:
    """Stands in for the timer, which needs CUDA graphs."""
    call()
    return timing.Timing(2.0, 1.0, 3.0)


@pytest.mark.parametrize(("fmt", "layout"), [("bf16", "inline"), ("fp8", "inline"), ("int8", "inline"),
                                             ("int8", "planar")])
def test_store_is_measured_after_it_is_right(fmt: str, layout: str) -> None:
    case = Case(**{**vars(STORE), "fmt": fmt, "layout": layout})
    rows = list(measure_store(case, 5, once, peers=False, device="cpu"))
    assert [r["kernel"] for r in rows] == ["plain copy", "splitverify"] and all(r["us"] == 2.0 for r in rows)
    cell = {"bf16": 512, "fp8": 256, "int8": 264}[fmt]
    assert moved_bytes(case, 5) == 5 * 2 * (512 + cell)


def test_no_speed_of_a_wrong_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_quantize_store, "quantize_store", lambda *args: None)
    with pytest.raises(Wrong, match="codes differ"):
        list(measure_store(STORE, 5, once, peers=False, device="cpu"))


def row(kernel: str, length: int, us: float, **fields: Any) -> dict[str, Any]:
    return dict(fmt="bf16", layout="inline", q=8, length=length, requests=1, window=0, gpu="a GPU", kernel=kernel,
                us=us, of_floor=0.5, config_for="this length", **fields)


def pretend(monkeypatch: pytest.MonkeyPatch, measure: Any) -> None:
    """A machine with a GPU, as far as the command's own lines see it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(timing, "Timer", lambda: once)
    monkeypatch.setattr(__main__, "empty_graph", lambda timer: 1.0)
    monkeypatch.setattr(bench_verify_attention, "measure", measure)
    monkeypatch.setattr(bench_quantize_store, "measure_store", lambda case, tokens, timer, peers: [
        dict(fmt=case.fmt, layout=case.layout, tokens=tokens, kernel="splitverify", us=3.0)])


def test_the_command_prints_no_speed_while_a_result_is_wrong(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def measure(case: Case, *args: Any, **kwargs: Any) -> Any:
        if case.fmt == "int8":
            raise Wrong("int8 is wrong")
        yield row("plain read", case.lens[0], 77.0)
        yield row("splitverify", case.lens[0], 88.0)
    pretend(monkeypatch, measure)
    assert __main__.main(["--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err == "WRONG, no speeds: int8 is wrong\n" and "88.0" not in said.out
    assert not (tmp_path / "verify.md").exists()


def test_the_command_leaves_tables_and_records(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def measure(case: Case, *args: Any, **kwargs: Any) -> Any:
        yield row("plain read", case.lens[0], 77.0)
        yield row("splitverify", case.lens[0], 88.0)
        yield dict(fmt="bf16", kernel="FA3", absent="ImportError: no")
    pretend(monkeypatch, measure)
    assert __main__.main(["--out", str(tmp_path), "--formats", "bf16", "--q", "8"]) == 0
    out = capsys.readouterr().out
    assert "| bf16 | inline | 131072 | 8 | - | 1 | this length | 77.0 | 88.0 | 0.50 |" in out
    assert "| bf16 | inline | 64 | 3.0 |" in out and "absent: FA3 bf16: ImportError: no" in out
    assert (tmp_path / "store.md").exists() and len((tmp_path / "store.jsonl").read_text().splitlines()) == 3


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib, which is not installed")
    records = tmp_path / "verify.jsonl"
    records.write_text("".join(json.dumps(row(kernel, n, n / 100)) + "\n" for kernel in ("plain read", "splitverify")
                               for n in (4096, 131072)))
    for name in ("one.svg", "two.svg", "one.png"):
        assert report.main([str(records), "--plot", str(tmp_path / name)]) == 0
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for words in ("131,072", "plain read (floor)", "splitverify", "context, tokens", "a GPU"):
        assert words in text
    records.write_text(json.dumps(row("splitverify", 4096, 1.0, absent="") | {"q": 4}) + "\n")
    assert report.main([str(records), "--plot", str(tmp_path / "none.svg")]) == 1
    assert report.main([str(tmp_path / "nothing"), "--plot", str(tmp_path / "none.svg")]) == 1


def test_where_raw_keys_were_measured_the_tuner_says_what_ships_takes(tmp_path: Path) -> None:
    common: dict[str, Any] = dict(fmt="fp8", layout="inline", q=8, length=4096, requests=1, window=0, config_for="this length")
    ours = dict(common, kernel="splitverify", us=20.0, of_floor=0.5, config=dict(tile=64, raw_keys=True))
    rows = [dict(common, kernel="plain read", us=10.0, of_floor=1.0), ours, dict(common, kernel="plain read", us=10.0, q=4),
            dict(ours, q=4, config=dict(tile=64, raw_keys=False)), dict(common, kernel="plain read", us=10.0, config_for="a graph"),
            dict(ours, config_for="a graph")]
    best = [dict(us=us, config=dict(tile=64, raw_keys=raw)) for us, raw in ((19.0, True), (25.0, False), (26.0, False))]
    case = dict(fmt="fp8", layout="inline", q=[8], lens=[4096], window=0)
    tuned = [dict(case=case, best=best), dict(case=dict(case, window=2048), best=[dict(best[1], us=1.0)])]
    assert report.table(report.as_shipped(rows, tuned)).splitlines()[2:] == [
        "| fp8 | inline | 4096 | 8 | - | 1 | this length | 10.0 | 25.0 (tuner) | 0.40 |",
        "| fp8 | inline | 4096 | 4 | - | 1 | this length | 10.0 | 20.0 | 0.50 |",
        "| fp8 | inline | 4096 | 8 | - | 1 | a graph | 10.0 | – | – |"]
    assert not any(r.get("config", {}).get("raw_keys") for r in report.as_shipped(rows, []))


def test_without_a_gpu_it_says_so() -> None:
    done = subprocess.run([sys.executable, "-m", "splitverify.bench"], capture_output=True, text=True,
                          cwd=Path(__file__).parent.parent, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "a benchmark needs a GPU, and torch finds none here"
    assert "Traceback" not in done.stderr


def test_without_torch_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert __main__.main([]) == 2
    assert capsys.readouterr().err == "not installed: torch, triton\n"


@pytest.mark.parametrize("arguments", [["--formats", "nvfp4"], ["--q", "0"], ["--lengths", "4k"]])
def test_bad_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        __main__.main(arguments)
    assert stop.value.code == 2 and arguments[1] in capsys.readouterr().err
