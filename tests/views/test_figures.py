"""The ledger of this machine stands among the figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from resolver.diagnostics import Position
from resolver.views import figures as view
from resolver.views.evidence import Evidence
from resolver.views.figures_ledger import figure_of, with_ledger
from tests.explain.requests import resolver
from tests.views.figures_kept import kept, on, speed


def test_a_ledger_stands_before_the_evidence_newest_first(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(1), on(at="2026-11-01T10:00:00Z")), (speed(2), on()), (speed(3), on()))
    both = with_ledger(evidence, book)
    first = list(both.figures.values())[:3]
    assert [f.value for f in first] == [3, 2, 1]
    assert {f.source for f in first} == {"ledger"}
    assert first[0].position == Position(str(book.path), 3, 1)
    assert len(both.figures) == len(evidence.figures) + 3
    assert view.row(first[0])[4:8] == ("RTX 3090 24 GB", "0.31.0", "2026-12-01", "measured")


def test_what_is_evidence_already_is_shown_once_and_knows_its_facts(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(), on()))
    (record,) = book.records
    beside = replace(figure_of(record, "x"), source="measure", provenance={"configuration": "0" * 16})
    known = replace(evidence, figures={**evidence.figures, record.id: beside})
    found = with_ledger(known, book).figures[record.id]
    assert found.source == "measure"
    assert found.provenance["configuration"] == "0" * 16
    assert found.provenance["facts"]["gpu.count"] == 1


def test_new_hardware_brings_its_capability(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(), on(hardware="H200 140 GB", capability="9.0", gpus=1)))
    both = with_ledger(evidence, book)
    found = next(iter(both.figures.values()))
    assert both.capability(found) == "9.0"
    wanted = view.Wanted(hardware="9.0")
    selected = view.select(resolver().rules, both, wanted)
    assert found in selected
    assert {both.capability(f) for f in selected} == {"9.0"}


def test_filters_reach_the_ledger_by_arm_context_and_words(tmp_path: Path, evidence: Evidence) -> None:
    both = with_ledger(evidence, kept(tmp_path, (speed(context=112648, notes=("odd weather",)), on())))
    found = next(iter(both.figures.values()))

    def select(**wanted: str) -> list[str]:
        return [f.id for f in view.select(resolver().rules, both, view.Wanted(**wanted))]

    assert found.id in select(arm="mtp-long-fp8")
    assert found.id not in select(arm="mtp-long-flashinfer-fp8"), "the record says which arm ran"
    assert found.id in select(context="112k")
    assert found.id in select(context="112648")
    assert found.id not in select(context="112000")
    assert select(text="ODD weather 3090") == [found.id]
    assert select(text="odd sunshine") == []
