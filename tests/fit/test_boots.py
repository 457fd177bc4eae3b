"""The published table: it is up to date, nothing that failed is said to fit, and every printed pool is whole pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.compile import open_resolver
from resolver.views.evidence import load_evidence
from resolver.views.fit_boots import PAGE, Row, page, rows

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return rows(open_resolver())


def test_the_page_is_up_to_date() -> None:
    assert (REPO / PAGE).read_text(encoding="utf-8") == page(open_resolver()), "run python -m resolver.views.fit_boots"


def test_no_false_fit_and_no_false_refusal(found: list[Row]) -> None:
    assert [row.boot["figure"] for row in found if row.false_fit or row.false_refusal] == []


def test_every_printed_pool_is_whole_pages(found: list[Row]) -> None:
    """Not fitted: with another group, block or state no whole number of pages prints these tokens."""
    printed = [row for row in found if row.whole is not None]
    assert len(printed) >= 65
    assert [row.boot["figure"] for row in printed if not row.whole] == []


def test_pools_follow_from_what_the_engine_said_it_has(found: list[Row]) -> None:
    both = [row for row in found if row.predicted and "tokens" in row.boot]
    assert len(both) >= 9
    for row in both:
        assert row.predicted
        assert row.predicted[0] <= row.boot["tokens"] <= row.predicted[1], row.boot["figure"]


def test_a_refusal_for_want_of_pool_follows_from_what_the_engine_said(found: list[Row]) -> None:
    """Where the engine named what it has and refused, one request does not fit into that."""
    for row in found:
        if row.predicted and row.boot["outcome"] == "refuses":
            need = row.found.questions[0].need
            assert need
            assert need.low > row.boot["available_gib"], row.boot["figure"]


def test_figures_exist_and_agree() -> None:
    """Every figure that rules/geometry.yaml names exists; where it is a pool or a memory, the boot repeats its value."""
    resolver = open_resolver()
    evidence = load_evidence(resolver.root)
    from resolver.geometry.data import knowledge

    known = knowledge(resolver.root)
    figures = evidence.figures
    bands = [
        *known.cards.values(),
        *known.weights.values(),
        *known.running.values(),
        known.wsl_free,
        known.after_profile,
    ]
    for name in [*(f for band in bands for f in band.figures), *(boot["figure"] for boot in known.boots)]:
        assert name in figures, name
    for boot in known.boots:
        figure = figures[boot["figure"]]
        if figure.metric == "kv_pool_tokens":
            assert boot["tokens"] == figure.value, boot["figure"]
        if figure.metric == "kv_available_gib":
            assert boot["available_gib"] == figure.value, boot["figure"]
