"""A measurement is written and read without loss, and nothing that was not measured becomes one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resolver.measure.measurement import Measurement

ONE = Measurement(
    "decode_tok_s",
    95.5,
    "tok/s",
    5,
    94.0,
    97.25,
    "min-max",
    {"context": 2048, "streams": 1, "cache": "warm", "share": 0.5, "greedy": True},
    "decode: median",
    2,
    True,
    ("a note",),
)


def test_json_there_and_back() -> None:
    assert Measurement.from_json(json.loads(json.dumps(ONE.as_json()))) == ONE


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_is_no_measurement(value: float) -> None:
    with pytest.raises(ValueError, match="no measured number"):
        Measurement("ppl", value, "ppl", 1)


def test_no_observation_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="0 observations"):
        Measurement("ppl", 1.0, "ppl", 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"value": "95"}, "field value"),
        ({"value": True}, "field value"),
        ({"n": 1.5}, "field n"),
        ({"sound": 1}, "field sound"),
        ({"conditions": {"a": []}}, "condition a"),
        ({"notes": [1]}, "a note"),
        ({"extra": 1}, "unknown field extra"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Measurement.from_json({**ONE.as_json(), **change})


def test_a_missing_field_is_named() -> None:
    data = ONE.as_json()
    del data["unit"]
    with pytest.raises(ValueError, match="no field unit"):
        Measurement.from_json(data)


def test_unsound_keeps_the_reason_once() -> None:
    twice = ONE.unsound("others used the server").unsound("others used the server")
    assert not twice.sound
    assert twice.notes == ("a note", "others used the server")


@pytest.mark.parametrize("number", [10**400, -(10**400), float("nan"), float("inf")])
def test_what_no_float_holds_was_not_measured(number: float) -> None:
    for place in ("value", "low", "high"):
        with pytest.raises(ValueError, match="no measured number"):
            Measurement(**{"metric": "m", "value": 1.0, "unit": "s", "n": 1, place: number})  # type: ignore[arg-type]
    data = {**Measurement("m", 1.0, "s", 1).as_json(), "conditions": {"seed": number}}
    with pytest.raises(ValueError, match="the condition seed of a measurement is no number"):
        Measurement.from_json(data)
