"""What follows from arms that were measured in turn? The ratio of each to the first, pair by pair, with a 95 % interval.

The unit is the boot, not the request: boots of one launch differ more than requests of one boot. So each boot gives one value,
the two boots of a round make a pair, and a run whose checks failed gives nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from resolver.measure.measurement import Measurement
from resolver.measure.statistics import ratio_interval

CELL = ("context", "streams", "task", "cache_state", "conversation", "answer_tokens")


@dataclass(frozen=True, slots=True)
class Run:
    """One boot of an arm.

    Attributes:
        number: which round.
        arm: its name.
        why_not: why nothing follows from it; empty where it may be used.
        measurements: its numbers.
    """

    number: int
    arm: str
    why_not: str = ""
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One arm beside the first one, in one number.

    Attributes:
        metric, unit, at: what is compared, and under which conditions.
        first, other: the two arms.
        first_value, other_value: the median of each one's boots.
        pairs: rounds in which both can be used.
        ratio, low, high: other over first, and its 95 % interval; None for fewer than two pairs.
    """

    metric: str
    unit: str
    at: str
    first: str
    other: str
    first_value: float
    other_value: float
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def says(self) -> str:
        """What follows, in words."""
        if self.low is None or self.high is None:
            return "too few rounds to tell"
        if self.low <= 1 <= self.high:
            return "no difference shown"
        return "higher" if self.low > 1 else "lower"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {name: getattr(self, name) for name in (*self.__dataclass_fields__, "says")}


@dataclass
class _Cell:
    unit: str
    values: dict[str, dict[int, float]] = field(default_factory=dict)


def rows(runs: Sequence[Run], arms: Sequence[str]) -> list[Row]:
    """Compare every arm with the first one, number by number, in the order in which they were measured.

    Args:
        runs: all boots; those with `why_not`, and numbers that are not sound, are left out.
        arms: the names; the first is what the others are compared with.
    """
    cells: dict[tuple[str, str], _Cell] = {}
    for run in runs:
        for one in () if run.why_not else run.measurements:
            if one.sound:
                at = ", ".join(f"{name} {one.conditions[name]}" for name in CELL if name in one.conditions)
                cell = cells.setdefault((one.metric, at), _Cell(one.unit))
                cell.values.setdefault(run.arm, {})[run.number] = one.value
    found = []
    for (metric, at), cell in cells.items():
        first = cell.values.get(arms[0], {})
        for other in arms[1:]:
            values = cell.values.get(other, {})
            rounds = sorted(set(first) & set(values))
            if not rounds:
                continue
            before, after = [first[number] for number in rounds], [values[number] for number in rounds]
            ratio = ratio_interval(before, after)
            found.append(
                Row(
                    metric,
                    cell.unit,
                    at,
                    arms[0],
                    other,
                    median(before),
                    median(after),
                    len(rounds),
                    *(ratio or (None, None, None)),
                )
            )
    return found


def other_work(found: Sequence[Row]) -> list[str]:
    """Say where two arms did another amount of work: their tokens per step differ, so their speeds are not those of one text."""
    return [
        f"{row.other} makes {row.other_value:.3g} tokens a step and {row.first} {row.first_value:.3g} at {row.at}: "
        "their texts took other turns, so compare step_ms beside decode_tok_s"
        for row in found
        if row.metric == "tokens_per_step" and abs(row.other_value / row.first_value - 1) > 0.02
    ]
