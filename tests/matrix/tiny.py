"""A second reading of the rule language, in a few lines and from the plain YAML data: no part of the resolver is used.

The language is small enough for this: a reader who wants to know what a condition means can read it here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
STATE = {"given": ["given"], "empty": ["empty"], "unset": ["unset"], "blank": ["empty", "unset"]}
CALLS: dict[str, Callable[..., int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: None if b == 0 else int(a / b),  # small numbers only: exact here
    "min": min,
    "max": max,
}


@dataclass
class World:
    """What conditions read: values by name, and the state of each knob. Settings are added as they are found."""

    values: dict[str, Any]
    states: Mapping[str, str]
    rows: dict[str, int] = field(default_factory=dict)


def holds(when: Mapping[str, Any], world: World) -> bool:
    return all(_entry(key, value, world) for key, value in when.items())


def _entry(key: str, value: Any, world: World) -> bool:
    if key == "not":
        return not holds(value, world)
    if key in ("any", "all"):
        return (any if key == "any" else all)(holds(part, world) for part in value)
    if isinstance(value, dict):
        return not _entry(key, value["not"], world)
    if isinstance(value, list):
        return any(_entry(key, item, world) for item in value)
    here = world.values.get(key)
    if value == "unknown":
        return here is None
    if isinstance(value, str) and value in STATE:
        return world.states[key] in STATE[value]
    if isinstance(value, str) and (found := re.fullmatch(r"([<>]=?) (\S+)", value)):
        left, right = _ordered(here), _ordered(world.values.get(found[2], found[2]))
        return left is not None and right is not None and ORDER[found[1]](left, right)
    return value in here if isinstance(here, list) else (type(here), here) == (type(value), value)


def _ordered(value: Any) -> Any:
    """A number, or the parts of a version; None for what has no order."""
    if isinstance(value, str):
        return [int(part) for part in value.split(".")] if re.fullmatch(r"\d+(\.\d+)+", value) else _number(value)
    return value


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def value_of(value: Any, world: World) -> Any:
    """A literal, or what stands after `=`: a name, `a OP b`, or `min(a, b)`; null in gives null out."""
    if not (isinstance(value, str) and value.startswith("= ")):
        return value
    words = re.findall(r"[a-z_0-9.]+|//|[-+*]", value[2:])
    if len(words) == 1:
        return world.values.get(words[0])
    name, left, right = words if words[0] in CALLS else (words[1], words[0], words[2])
    a, b = (world.values.get(w) if not w.isdigit() else int(w) for w in (left, right))
    return None if a is None or b is None else CALLS[name](a, b)


def run(settings: Mapping[str, Any], order: list[str], world: World) -> None:
    """Give each setting the value of its first row that holds, in `order`; `rows` keeps which row that was (-1: none)."""
    for name in order:
        won = next((i for i, row in enumerate(settings[name]["first"]) if holds(row.get("when", {}), world)), -1)
        world.rows[name] = won
        world.values[name] = value_of(settings[name]["first"][won]["value"], world) if won >= 0 else None


def fired(guards: Mapping[str, Any], world: World, version: str) -> set[str]:
    """The guards that speak on this engine version."""

    def in_window(guard: Mapping[str, Any]) -> bool:
        here = _ordered(version)
        low, high = guard.get("since"), guard.get("until")
        return (low is None or here >= _ordered(low)) and (high is None or here < _ordered(high))

    return {name for name, guard in guards.items() if in_window(guard) and holds(guard["when"], world)}
