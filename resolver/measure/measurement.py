"""What is one measured number? Its value, spread and conditions as data; whoever records it adds who, when and on what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

Condition = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number that was measured.

    Attributes:
        metric: what was measured, by the name that the figures of rules/evidence have for it where they have one.
        value: the number: a median, a mean, a share or a count, as `method` says.
        unit: the unit of `value`, `low` and `high`.
        n: how many observations are behind the value.
        low, high: the ends of the spread; None where there is none.
        spread: what the ends are: "min-max", "iqr", "95 % interval"; empty where there are none.
        conditions: under which conditions: context, streams, seed, corpus hash, cache state.
        method: the tool and what it did, in a few words.
        method_version: rises whenever the method changes so that numbers do not compare any more.
        sound: False where correctness checks failed or others used the server: never recorded as a figure.
        notes: what a reader of the number must know beside it.
    """

    metric: str
    value: float
    unit: str
    n: int
    low: float | None = None
    high: float | None = None
    spread: str = ""
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    method: str = ""
    method_version: int = 1
    sound: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no number: such a thing was not measured."""
        for number in (self.value, self.low, self.high):
            if number is not None and not _finite(number):
                shown = number if isinstance(number, float) else "too large"
                raise ValueError(f"{self.metric} is {shown}, which is no measured number")
        if self.n < 1:
            raise ValueError(f"{self.metric} has {self.n} observations, so nothing was measured")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it, every field in the order above."""
        data = asdict(self)
        return {**data, "conditions": dict(self.conditions), "notes": list(self.notes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measurement:
        """Return the measurement that `as_json` wrote.

        Raises:
            ValueError: a field is missing, unknown, or of the wrong kind; the text names it.
        """
        known = {entry.name for entry in fields(cls)}
        for name in (*(set(data) - known), *(known - set(data))):
            raise ValueError(f"a measurement has {'no' if name in known else 'an unknown'} field {name}")
        for name, kinds in _KINDS.items():
            if not isinstance(data[name], kinds) or (isinstance(data[name], bool) and name != "sound"):
                raise ValueError(f"the field {name} of a measurement is {type(data[name]).__name__}")
        for name, condition in data["conditions"].items():
            if not isinstance(condition, str | int | float | bool):
                raise ValueError(f"the condition {name} of a measurement is {type(condition).__name__}")
            if not isinstance(condition, str) and not _finite(condition):
                raise ValueError(f"the condition {name} of a measurement is no number")
        if not all(isinstance(note, str) for note in data["notes"]):
            raise ValueError("a note of a measurement is no text")
        return cls(**{**data, "conditions": dict(data["conditions"]), "notes": tuple(data["notes"])})

    def unsound(self, why: str) -> Measurement:
        """Return it marked as not to be recorded, with the reason among its notes."""
        return replace(self, sound=False, notes=self.notes if why in self.notes else (*self.notes, why))


def _finite(number: float) -> bool:
    """Whether it can be computed with; a whole number may be larger than any float."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


_KINDS: dict[str, type | tuple[type, ...]] = {
    "metric": str,
    "value": (int, float),
    "unit": str,
    "n": int,
    "low": (int, float, type(None)),
    "high": (int, float, type(None)),
    "spread": str,
    "conditions": Mapping,
    "method": str,
    "method_version": int,
    "sound": bool,
    "notes": (list, tuple),
}
