"""The pinned decisions hold, the tests reach every row and see leaves both ways, and small changes of rules are noticed."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver
from resolver.conditions import ALWAYS
from resolver.resolve import Resolver
from tests.check import suite
from tests.check.coverage import LEAVES, ROWS, measure, of_suite
from tests.check.mutants import mutants
from tests.check.mutation import Report, Suite, run, sample


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def test_pinned_decisions_hold(resolver: Resolver) -> None:
    tests = list(suite.decisions(resolver))
    assert len(tests) >= 100
    assert [t.name for t in tests if t.fails(resolver)] == [], "run `python -m tests.check.pin` and read the diff"


def test_every_row_is_taken_and_leaves_are_seen_both_ways(resolver: Resolver) -> None:
    coverage = of_suite(resolver)
    print(coverage.text())
    assert coverage.row_share >= ROWS, coverage.text()
    assert coverage.leaf_share >= LEAVES, coverage.text()


def test_coverage_of_few_tests_is_small(resolver: Resolver) -> None:
    """The measure can fail."""
    few = measure(resolver, (test.resolution for _, test in zip(range(20), suite.examples(resolver), strict=False)))
    assert few.row_share < 0.8
    assert few.leaf_share < 0.8


def check(report: Report) -> None:
    print(report.text())
    assert report.share >= 0.95, report.text()


def test_a_sample_of_mutants_is_killed(resolver: Resolver) -> None:
    check(run(resolver, sample(resolver, 60)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_mutants_are_killed(resolver: Resolver) -> None:
    check(run(resolver, sample(resolver, None)))


def test_without_tests_a_mutant_survives(resolver: Resolver) -> None:
    """The run can fail: without its examples and decisions the drop of a guard is not noticed, and it is not called equivalent."""
    mutant = next(m for m in mutants(resolver.rules) if m.kind == "drop" and m.rule == "fa2-beside-another-backend")
    tests = Suite(resolver)
    assert tests.killer(mutant) is not None
    tests.about.clear()
    tests.recorded.clear()
    assert tests.killer(mutant) is None


def test_mutants_of_every_kind_are_made(resolver: Resolver) -> None:
    made = list(mutants(resolver.rules))
    assert {m.kind for m in made} == {"drop", "flip", "bound", "swap"}
    assert len({(m.rule, m.kind, m.says) for m in made}) >= 0.9 * len(made)
    changed = made[1].apply(resolver.rules)
    assert changed.guards != resolver.rules.guards or changed.settings != resolver.rules.settings
    assert not any(m.kind == "swap" and m.setting and ALWAYS in [r.when for r in m.setting.rows[:-1]] for m in made)
