"""Two figures: every fact in which they differ, and why their values may not compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver.diagnostics import UsageError
from resolver.views import figures_compare
from resolver.views.evidence import Evidence
from tests.views.figures_kept import figure, on, speed


def test_each_fact_that_differs_is_named(tmp_path: Path, evidence: Evidence) -> None:
    first = figure(tmp_path, speed(60))
    other = on("PTH_FA=0", "MAX_SEQS=4", power_cap_w=350, clocks={}, engine="0.30.0", plugins={"splitverify": "0.2.0"})
    second = figure(tmp_path, speed(75, 60000, conditions={"cache_state": "prefix hit"}), other)
    both = figures_compare.compare(evidence, first, second)
    differ = {fact: (a, b) for fact, a, b in both.differ}
    assert differ["engine"] == ("0.31.0", "0.30.0")
    assert differ["power cap in W"] == ("250", "350")
    assert differ["clocks sm mhz"] == ("1695", None)
    assert differ["context tokens"] == ("112,000", "60,000")
    assert differ["cache state"] == ("cold prompt", "prefix hit")
    assert differ["plugins splitverify"] == ("0.1.0", "0.2.0")
    assert differ["MAX_SEQS"] == (None, "4")
    assert differ["--max-num-seqs"] == ("8", "4")
    assert both.ratio == 1.25
    assert "hardware" in both.same
    assert "hardware" not in differ
    table, below = figures_compare.lines(both)
    assert ("clocks sm mhz", "1695", "unknown") in table
    assert below[0] == f"{second.id} is 1.25 times {first.id}"
    json.dumps(both.as_json())


def test_the_same_figure_differs_in_nothing(evidence: Evidence) -> None:
    one = evidence.figures["g-esc-decode-fp8"]
    both = figures_compare.compare(evidence, one, one)
    assert both.differ == ()
    assert both.ratio == 1
    assert set(both.neither) == {"date", "driver", "clocks", "configuration", "method"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("g-esc-decode-fp8", "g-esc-ppl-fp8", "different metrics"),
        ("v31-huge-two-inflight", "l-ret-sparse-reuse", "contradict each other"),
        ("l-mtp-long-default", "su-mtp-long-c1-default", "contradict each other"),
    ],
)
def test_why_values_may_not_compare(evidence: Evidence, first: str, second: str, said: str) -> None:
    both = figures_compare.compare(evidence, evidence.figures[first], evidence.figures[second])
    assert any(said in remark for remark in both.remarks)


def test_other_methods_are_told_of(tmp_path: Path, evidence: Evidence) -> None:
    one, two = figure(tmp_path), figure(tmp_path, speed(method_version=2))
    assert any("different methods" in r for r in figures_compare.compare(evidence, one, two).remarks)


def test_a_figure_is_found_by_the_beginning_of_its_id(evidence: Evidence) -> None:
    assert figures_compare.find(evidence, "g-esc-decode-fp").id == "g-esc-decode-fp8"
    with pytest.raises(UsageError, match="figures begin with 'g-esc'"):
        figures_compare.find(evidence, "g-esc")
    with pytest.raises(UsageError) as caught:
        figures_compare.find(evidence, "q-esc-decode-fp8")
    assert caught.value.fix == "did you mean g-esc-decode-fp8?"
