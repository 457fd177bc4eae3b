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


def test_figures_of_an_earlier_run_stay_where_they_were_not_measured_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = machine.REPO / "rules/evidence/figures-h200-run.yaml"
    assert figures.main([str(run), "--date", "2027-01-31", "--keep", str(earlier), "--note", "third run"]) == 0
    path = run / "figures.yaml"
    path.write_text(capsys.readouterr().out)
    schema.validate(read(path, "figures.yaml"), machine.REPO / "rules/schema/figures.json")
    before = {item["id"]: item for item in yaml.safe_load(earlier.read_text())["figures"]}
    after = {item["id"]: item for item in yaml.safe_load(path.read_text())["figures"]}
    assert set(after) == set(before)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {name for name in after if name.startswith("h2-mtp3-custom-int8-") and "100k" not in name} - {
        "h2-mtp3-custom-int8-16k-c4-step"
    }
    assert all(after[name]["date"] == "2027-01-31" for name in changed)
    assert {name for name in after if after[name]["note"].endswith(", third run")} == changed


def crowd(folder: Path, wrong: int | None) -> None:
    """Answers of which the second was turned out before its token 6; the one of step `wrong` is not what its text leads to."""
    sure = [[1, -0.1], [2, -3.0]]
    given = [{"tokens": [1] * 12, "logprobs": [sure] * 12, "pauses": places} for places in ([], [6])]
    asked = [
        {"place": place, "step": step, "tokens": [9 if place and step == wrong else 1], "logprobs": [sure]}
        for place in (0, 1)
        for step in range(0, 12, 2)
    ]
    (folder / "answers-tight-custom-int8-crowded.json").write_text(json.dumps(given))
    (folder / "forced-tight-custom-int8-crowded.json").write_text(json.dumps(asked))


@pytest.mark.parametrize(("wrong", "unexplained"), [(None, [0, 0]), (6, [1, 1]), (4, [1, 0])])
def test_what_a_request_goes_on_with_after_a_pause_is_said_apart(
    wrong: int | None, unexplained: list[int], tmp_path: Path
) -> None:
    crowd(tmp_path, wrong)
    rows = report.forced(tmp_path)
    assert [row[1] for row in rows] == ["its text alone", "idem, after it was taken in again"]
    answers = [f"{12 - unexplained[0]} of 12", f"{3 - unexplained[1]} of 3"]
    assert [row[3] for row in rows] == answers
    assert [row[-1] for row in rows] == unexplained


def test_a_cache_that_was_not_emptied_is_said() -> None:
    record = {
        "launch": "a",
        "kind": "answers",
        "batch": "forced",
        "asked": 1,
        "answered": 1,
        "with_prefix": 0,
        "counted": {"vllm:num_preemptions": 2.0},
        "pauses": 2,
    }
    assert "was not emptied" in "".join(report.rest([record | {"cache_emptied": False}]))
    fine = report.rest([record | {"cache_emptied": True}])
    assert fine == [
        "- a: answered (of them begun in the prefix cache) forced 1 of 1 (0); 2 preemptions, 2 answers' pauses"
    ]


def test_the_load_is_shown_from_its_beginning_to_its_end(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.load(run) == []
    lines = [
        {"load s": 5.0 * number, "alive": True, "rss_mib": 100 + number, "server": {"preemptions": number}}
        for number in range(240)
    ]
    (run / "soak-progress.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = report.load(run)
    assert len(shown) == 2 + 12
    assert shown[2].startswith("| 0.0 | True |")
    assert shown[-1].startswith("| 1195.0 | True |")
    assert "| 339 |" in shown[-1]
    report.main([str(run)])
    assert "## The load" in capsys.readouterr().out


def test_no_two_launches_have_the_same_conditions() -> None:
    measured = [name for name in launches.ALL if not name.startswith(("tight", "spoiled", "served"))]
    texts = [json.dumps(figures.setup(launches.ALL[name]), sort_keys=True) for name in measured]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("value", ["off", "8", "a b", "H200 141 GB", "0.31.0", "x: y", "2026-12-01", {"spec": "off"}])
def test_values_come_back_from_yaml(value: Any) -> None:
    assert yaml.safe_load(figures.flow(value)) == value
