"""Intervals hold what they promise: checked against known values and by drawing many samples."""

from __future__ import annotations

import random

import pytest

from resolver.measure.statistics import mean_interval, ratio_interval, share_interval, t95


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.706), (4, 2.776), (30, 2.042), (40, 2.0211), (60, 2.0003), (120, 1.9799)]
)
def test_t(freedom: int, value: float) -> None:
    assert t95(freedom) == pytest.approx(value, abs=0.001)


def test_mean() -> None:
    assert mean_interval([1.0]) is None
    found = mean_interval([1.0, 2.0, 3.0])
    assert found
    assert found == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), abs=0.001)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (188, 200, 0.8981, 0.9654), (1, 2, 0.0945, 0.9055)],
)
def test_share(hits: int, n: int, low: float, high: float) -> None:
    assert share_interval(hits, n) == pytest.approx((low, high), abs=0.0005)


def test_ratio_of_pairs() -> None:
    found = ratio_interval([100, 110, 90], [120, 132, 108])
    assert found == pytest.approx((1.2, 1.2, 1.2))
    assert ratio_interval([1], [2]) is None
    assert ratio_interval([1, 0], [2, 2]) is None
    there = ratio_interval([100, 104], [110, 118])
    back = ratio_interval([110, 118], [100, 104])
    assert there
    assert back
    assert there[0] == pytest.approx(1 / back[0])
    assert there[1] == pytest.approx(1 / back[2])


def test_an_interval_holds_the_truth_nineteen_times_of_twenty() -> None:
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        drift = [draw.gauss(1, 0.2) for _ in range(4)]  # what both of a pair have in common
        first = [100 * max(d, 0.2) * draw.gauss(1, 0.03) for d in drift]
        second = [110 * max(d, 0.2) * draw.gauss(1, 0.03) for d in drift]
        found = ratio_interval(first, second)
        assert found
        held += found[1] <= 1.1 <= found[2]
    assert 0.93 < held / 2000 < 0.97
