"""How does a measurement read as a figure? Value, spread and setup under the names of figures; the rest of its provenance beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from resolver.measure.ledger import Record
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import Provenance

SOURCE = "measure"
DIGITS = 5
"""Significant digits of a figure; the ledger keeps them all."""
NOTE = 80
"""The longest note that a figure may have."""
SETUP = {"context": "context_tokens", "streams": "streams", "sampling": "sampling", "task": "task"}
"""Conditions of a measurement that figures have a name for."""
KINDS = {"context_tokens": int, "streams": int, "sampling": str, "task": str}


def item_of(record: Record) -> dict[str, Any]:
    """The figure that a record stands for, as it is written in YAML; what is unknown is left out."""
    one, on = record.measurement, record.provenance
    setup, rest = _conditions(one)
    item: dict[str, Any] = {
        "id": record.id,
        "metric": one.metric,
        "value": shorter(one.value),
        "min": None if one.low is None or one.high is None else shorter(one.low),
        "max": None if one.low is None or one.high is None else shorter(one.high),
        "unit": one.unit,
        "n": one.n,
        "spread": one.spread or None,
        "setup": {**on.setup, **setup} or None,
        "hardware": on.hardware,
        "capability": on.capability,
        "platform": on.platform,
        "engine": on.engine,
        "date": on.date,
        "power_cap_w": on.power_cap_w,
        "note": note_of(one.notes),
        "quality": "measured",
        "source": SOURCE,
        "provenance": _provenance(one, on, rest),
    }
    return {name: value for name, value in item.items() if value is not None}


def shorter(value: float) -> float | int:
    """The number with five significant digits; a whole one without a point.

    A number of more than five digits before the point keeps them all.
    """
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    places = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, places)
    return int(rounded) if rounded == int(rounded) and not places else rounded


def note_of(notes: Iterable[str]) -> str | None:
    """The notes as one, cut between words where it is too long for a figure."""
    text = " ".join("; ".join(notes).split())
    if len(text) <= NOTE:
        return text or None
    return text[: NOTE - 4].rpartition(" ")[0].rstrip(",;:") + " ..."


def _conditions(one: Measurement) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conditions that stand in a figure's setup, and the others."""
    setup: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in one.conditions.items():
        known = SETUP.get(name)
        kind = KINDS.get(known or "")
        if known and kind and isinstance(value, kind) and not isinstance(value, bool) and value != "":
            setup[known] = value
        else:
            rest[name] = shorter(value) if isinstance(value, float) else value
    return setup, rest


def _provenance(one: Measurement, on: Provenance, conditions: Mapping[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] = {
        "method": one.method or None,
        "method_version": one.method_version,
        "overlays": list(on.overlays),
        "plugins": dict(on.plugins),
        "driver": on.driver,
        "clocks": dict(on.clocks),
        "prefix_caching": on.prefix_caching,
        "model": on.model,
        "args": list(on.args),
        "configuration": on.configuration,
        "rules": on.rules,
        "conditions": dict(conditions),
    }
    return {name: value for name, value in found.items() if value is not None and value not in ([], {})} or None
