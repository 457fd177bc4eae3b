"""The page and the figures that are made from a run's records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from resolver.load import schema
from resolver.yaml12 import read
from tests.e2e import machine

from e2e import figures, launches, report  # isort: skip

TIMING: dict[str, Any] = {
    "launch": "mtp3-custom-int8",
    "kind": "timing",
    "context": 16000,
    "ttft_cold": 0.129,
    "ttft_warm": 0.036,
    "cached_warm": 14688,
    **{f"streams_{n}": {"ms": 6.3, "ms_median": 6.3, "tokens": 1.0} for n in (1, 4)},
    "gpu_1": {"gpu_ms": 1.1659, "attention": 0.1474, "gemm": 0.6, "top": []},
    "gpu_4": {},
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as a run leaves it, with one engine."""
    name = "mtp3-custom-int8"
    boot = {"launch": name, "kind": "boot", "seconds": 99.0, "block": 816, "pages": 2108, "gpu": "NVIDIA H200"}
    (tmp_path / "results.jsonl").write_text(json.dumps(boot) + "\n" + json.dumps(TIMING) + "\n")
    launch = {"arm": "mtp-long-custom-int8", "fit": {"block": 816, "printed_tokens": 1615788, "pool_pages": 2108}}
    (tmp_path / "launches.json").write_text(json.dumps({name: launch}))
    (tmp_path / f"{name}.log").write_text("x GPU KV cache size: 1,615,788 tokens, Maximum concurrency\n")
    return tmp_path


def test_the_page(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(run)]) == 0
    page = capsys.readouterr().out
    assert "| mtp3-custom-int8 | mtp-long-custom-int8 | 99.0 | 816 | 1,615,788 | 1,615,788 | yes |" in page
    assert "| mtp3-custom-int8 | 1.17 / 0.15 / 6.3 |" in page
    assert "| mtp3-custom-int8 | 0.129 / 0.036 (14,688) |" in page


def test_another_pool_than_the_predicted_one_is_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "mtp3-custom-int8.log").write_text("GPU KV cache size: 1,615,000 tokens\n")
    report.main([str(run)])
    assert "| 1,615,000 | 1,615,788 | NO |" in capsys.readouterr().out


def test_the_figures_fit_their_schema_and_say_the_conditions(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main([str(run), "--date", "2026-12-01"]) == 0
    path = run / "figures.yaml"
    path.write_text(capsys.readouterr().out)
    schema.validate(read(path, "figures.yaml"), machine.REPO / "rules/schema/figures.json")
    found = {item["id"]: item for item in yaml.safe_load(path.read_text())["figures"]}
    assert {id: item["value"] for id, item in found.items()} == {
        "h2-mtp3-custom-int8-16k-c1-step": 1.166,
        "h2-mtp3-custom-int8-16k-cold": 0.129,
        "h2-mtp3-custom-int8-16k-warm": 0.036,
        "h2-mtp3-custom-int8-pool": 1615788,
    }
    assert all(item["setup"]["checkpoint"] == figures.CHECKPOINT for item in found.values())


def test_no_two_launches_have_the_same_conditions() -> None:
    measured = [name for name in launches.ALL if not name.startswith(("tight", "spoiled", "served"))]
    texts = [json.dumps(figures.setup(launches.ALL[name]), sort_keys=True) for name in measured]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("value", ["off", "8", "a b", "H200 141 GB", "0.31.0", "x: y", "2026-12-01", {"spec": "off"}])
def test_values_come_back_from_yaml(value: Any) -> None:
    assert yaml.safe_load(figures.flow(value)) == value
