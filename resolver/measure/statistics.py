"""What do several observations say together? Median and range, and intervals that say how far chance goes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t, two-sided 95 %, for 1 to 30 degrees of freedom."""
Z95 = 1.959964


def t95(freedom: int) -> float:
    """Student's t, two-sided 95 %; above 30 degrees of freedom by the Cornish-Fisher expansion, right to 0.001."""
    if freedom <= len(T95):
        return T95[freedom - 1]
    z = Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean, half = statistics.fmean(values), t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half


def share_interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, which holds for few trials and for shares near 0 and 1 as well."""
    share, z2 = hits / n, Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def ratio_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float] | None:
    """Second over first, and its 95 % interval, from pairs measured one after the other.

    The logarithms of the pairs' ratios are averaged, so that swapping the two gives the inverse. None for fewer than two
    pairs, or values that are not above 0.
    """
    if len(first) != len(second) or len(first) < 2 or min(*first, *second) <= 0:
        return None
    logs = [math.log(b / a) for a, b in zip(first, second, strict=True)]
    interval = mean_interval(logs)
    assert interval
    return math.exp(statistics.fmean(logs)), math.exp(interval[0]), math.exp(interval[1])
