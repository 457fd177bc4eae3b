"""The picture of figures: lines of one arm, card, engine and task, drawn the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resolver.diagnostics import UsageError
from resolver.serving.errors import LaunchError
from resolver.views import figures as view
from resolver.views import figures_plot
from resolver.views.evidence import Evidence
from resolver.views.figures_ledger import figure_of
from tests.explain.requests import resolver
from tests.views.figures_kept import kept, on, speed


def test_lines_are_of_one_arm_card_engine_and_task_and_nothing_is_averaged(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(
        tmp_path,
        (speed(70, 1000), on()),
        (speed(60, 2000), on()),
        (speed(65, 2000), on()),
        (speed(50, 2000, conditions={"task": "copy"}), on()),
        (speed(90, 1000), on(engine="0.30.0")),
    )
    figures = [figure_of(record, "x") for record in book.records]
    found = figures_plot.series(resolver().rules, figures)
    points = {key: [(context, f.value) for context, f in line] for key, line in found.items()}
    base = ("mtp-long-fp8", "RTX 3090 24 GB")
    assert points == {
        (*base, "0.30.0", 1, ""): [(1000, 90)],
        (*base, "0.31.0", 1, ""): [(1000, 70), (2000, 60), (2000, 65)],
        (*base, "0.31.0", 1, "copy"): [(2000, 50)],
    }
    assert figures_plot.label((*base, "unknown", 4, "copy")) == (
        "mtp-long-fp8, RTX 3090 24 GB, engine unknown, 4 streams, copy"
    )


def test_a_figure_that_fits_several_arms_is_drawn_for_none_unless_quoted(evidence: Evidence) -> None:
    rules = resolver().rules
    assert figures_plot.arms_of(rules, evidence.figures["l-fp8-decode-112k"]) == ["mtp-long-flashinfer-fp8"] or (
        "l-fp8-decode-112k" in rules.arms["mtp-long-fp8"].figures
    )
    unquoted = evidence.figures["lc-112k-copy-mtp"]
    assert sum(view.of_arm(unquoted, arm) for arm in rules.arms.values()) > 1
    assert figures_plot.arms_of(rules, unquoted) == []
    old = next(f for f in evidence.figures.values() if f.superseded_by and f.metric == "decode_tok_s")
    assert figures_plot.series(rules, [old]) == {}


def test_the_same_figures_give_the_same_bytes(tmp_path: Path, evidence: Evidence) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    figures = [f for f in evidence.figures.values() if f.hardware == "RTX 3090 24 GB"]
    made = []
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        count = figures_plot.plot(resolver().rules, evidence, figures, tmp_path / name)
        assert count > 10
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    assert made[2] == made[3]
    assert b"<svg" in made[0]
    assert made[2].startswith(b"\x89PNG")
    assert b"<dc:date>" not in made[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


def test_what_cannot_be_drawn_says_why(tmp_path: Path, evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, some = resolver().rules, list(evidence.figures.values())
    with pytest.raises(UsageError, match=r"ends neither in \.svg nor in \.png"):
        figures_plot.plot(rules, evidence, some, tmp_path / "a.pdf")
    with pytest.raises(UsageError, match="no figure of ppl fits"):
        figures_plot.plot(rules, evidence, some[:1], tmp_path / "a.svg", "ppl")
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    with pytest.raises(LaunchError, match="cannot be written"):
        figures_plot.plot(rules, evidence, some, tmp_path / "nowhere" / "a.svg")

    def without(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(figures_plot, "import_module", without)
    with pytest.raises(UsageError) as caught:
        figures_plot.plot(rules, evidence, some, tmp_path / "a.svg")
    assert "matplotlib" in caught.value.message
    assert caught.value.fix == "run .venv/bin/pip install 'matplotlib>=3.9' once"
