"""The numbered rules of the launcher that this product replaces: where each is implemented, or why it was dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module

from resolver.model import Rules

UNUSED = (96, 97)
LETTERED = {35: ("b",), 41: ("b", "c", "d")}


def numbers() -> list[str]:
    """Every number that the old rules have, R1 to R130, in order."""
    out = []
    for n in range(1, 131):
        if n not in UNUSED:
            out.append(f"R{n}")
            out += [f"R{n}{letter}" for letter in LETTERED.get(n, ())]
    return out


@dataclass(slots=True)
class Origin:
    """One number. `places`: what implements it and where; `dropped`: why nothing does; `broken`: code that is named and not there."""

    number: str
    places: list[str] = field(default_factory=list)
    dropped: str | None = None
    broken: list[str] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """Whether the number is accounted for, in exactly one way."""
        return not self.broken and bool(self.places) != bool(self.dropped)


def origins(rules: Rules) -> tuple[list[Origin], list[str]]:
    """Every number with what implements it, and the numbers that the rules name but that do not exist."""
    table = {number: Origin(number) for number in numbers()}
    strangers: dict[str, None] = {}
    for number, place in _places(rules):
        if number in table:
            table[number].places.append(place)
        else:
            strangers[f"{number}: {place}"] = None
    for item in rules.implementations:
        if item.origin not in table:
            strangers[f"{item.origin}: {item.position}"] = None
        elif item.where is None:
            table[item.origin].dropped = item.says
        elif is_there(item.where):
            table[item.origin].places.append(f"{item.where} ({item.says})")
        else:
            table[item.origin].broken.append(item.where)
    return list(table.values()), list(strangers)


def _places(rules: Rules) -> Iterator[tuple[str, str]]:
    for knob in rules.knobs.values():
        for number in (*knob.origins, *((knob.invalid_origin,) if knob.invalid_origin else ())):
            yield number, f"knob {knob.env}, {knob.position}"
    for setting in rules.settings.values():
        if setting.name == "arm":
            continue
        for number in setting.origins:
            yield number, f"setting {setting.name}, {setting.position}"
        for row in setting.rows:
            for number in row.origins:
                yield number, f"a row of setting {setting.name}, {row.position}"
    for arm in rules.arms.values():
        for number in arm.origins:
            yield number, f"arm {arm.name}, {arm.position}"
    for guard in rules.guards.values():
        for number in guard.origins:
            yield number, f"guard {guard.id}, {guard.position}"
    for variable in rules.variables.values():
        for number in variable.origins:
            yield number, f"variable {variable.name}, {variable.position}"
    for number in rules.render_origins:
        if not any(number in variable.origins for variable in rules.variables.values()):
            yield number, "an entry of argv in rules/render.yaml"


def is_there(where: str) -> bool:
    """Whether `module:name` (or `module:Class.name`) exists."""
    module, _, path = where.partition(":")
    try:
        thing: object = import_module(module)
        for name in path.split("."):
            thing = getattr(thing, name)
    except (ImportError, AttributeError):
        return False
    return True
