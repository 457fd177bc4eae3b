"""Small rule bases made at random that are clean by how they are made: every row and guard has a request of its own.

A table is a partition in disguise: rows go from special to general along one axis after another, values never repeat, and each
guard has a private knob, so that no other rule can hide it. What is random: the axes, their values, the shapes of conditions
(lists, `not`, `any`, comparisons either way), the order of names, chains of settings, and engine windows that meet.
"""

from __future__ import annotations

import random
from typing import Any

from tests.check.base import Data, clean, guard

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath"]


def test_of(chance: random.Random, name: str, value: str, allowed: list[str]) -> Data:
    """One value of a choice, said in one of several ways."""
    rest = [a for a in allowed if a != value]
    return chance.choice(
        [{name: value}, {name: [value]}, {name: {"not": rest}}, {"not": {name: rest}}, {"any": [{name: value}]}]
    )


def at_least(chance: random.Random, name: str, low: int) -> Data:
    """A number from `low` on, said in one of several ways."""
    return chance.choice(
        [{name: f">= {low}"}, {name: f"> {low - 1}"}, {name: {"not": f"< {low}"}}, {"not": {name: f"<= {low - 1}"}}]
    )


def together(chance: random.Random, *parts: Data) -> Data:
    """All of the parts: as one mapping where their keys differ, else as a list."""
    keys = [key for part in parts for key in part]
    if len(set(keys)) == len(keys) and chance.random() < 0.7:
        return {key: value for part in parts for key, value in part.items()}
    return {"all": list(parts)}


class Base:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.data = clean()
        self.count = 0

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def knob(self, **data: Any) -> str:
        name = self.fresh("knob")
        self.data["knobs"][name] = {"help": name, **data}
        self.data["argv"].insert(1, {"flag": "--kv-cache-dtype", "value": name})
        return name

    def show(self, setting: str, rows: list[Data]) -> None:
        """A setting and the flag that it becomes, so that something reads it."""
        self.data["settings"][setting] = {"first": rows}
        self.data["argv"].insert(
            1, {"flag": self.chance.choice(["--num-drafts", "--port", "--max-model-len"]), "value": setting}
        )

    def table(self) -> str:
        """A choice, a number and a switch: each pair of rows differs on the way down."""
        chance = self.chance
        allowed = chance.sample(WORDS, chance.randint(2, 5))
        choice = self.knob(type="choice", allowed=allowed, default=allowed[0])
        number = self.knob(type="int", minimum=1, maximum=100, default="5")
        switch = self.knob(type="switch", default="0")
        rows: list[Data] = []
        values = iter(chance.sample(range(1000), 40))
        for value in chance.sample(allowed, chance.randint(1, len(allowed) - 1)):
            here = test_of(chance, choice, value, allowed)
            if chance.random() < 0.6:
                rows.append(
                    {
                        "when": together(chance, here, at_least(chance, number, chance.randint(40, 90))),
                        "value": next(values),
                    }
                )
            if chance.random() < 0.5:
                rows.append(
                    {
                        "when": together(chance, here, {switch: "on"}, {number: f"< {chance.randint(10, 30)}"}),
                        "value": next(values),
                    }
                )
            if chance.random() < 0.4:
                rows.append(
                    {"when": together(chance, here, {number: "given"}), "value": f"= {number} + {next(values)}"}
                )
            rows.append({"when": here, "value": next(values)})
        rows.append({"value": next(values)})
        name = self.fresh("setting")
        self.show(name, rows)
        return name

    def chain(self, before: str) -> str:
        """A setting over another one: on where it is one of its literals."""
        rows = self.data["settings"][before]["first"]
        literal = self.chance.choice([row["value"] for row in rows if isinstance(row["value"], int)])
        name = self.fresh("setting")
        self.show(name, [{"when": {before: literal}, "value": 2000 + self.count}, {"value": 3000 + self.count}])
        return name

    def guards(self, setting: str) -> None:
        """Guards that share a setting, each with a switch of its own; windows of versions that meet."""
        chance = self.chance
        rows = self.data["settings"][setting]["first"]
        literals = [row["value"] for row in rows if isinstance(row["value"], int)]
        for _ in range(chance.randint(1, 4)):
            own = self.knob(type="switch", default="0")
            condition = together(chance, {own: "on"}, {setting: chance.choice(literals)})
            self.add(condition, own, chance.choice(["refuse", "warn", "note"]))
        if chance.random() < 0.5:
            own = self.knob(type="zero_one", default="0")
            at = chance.choice(["0.31.0", "0.32.0"])
            self.add({own: "on"}, own, "warn", until=at)
            self.add({own: "on"}, own, "note", since=at)

    def add(self, condition: Data, own: str, severity: str, **more: Any) -> None:
        silent = [{own: 0}]
        self.data["guards"][self.fresh("guard").replace("_", "-")] = guard(
            "said", condition, silent, silent, severity, **more
        )


def generate(seed: int) -> Data:
    """One clean rule base. Examples of its guards are placeholders: `fit_examples` makes them say what happens."""
    base = Base(seed)
    names = [base.table() for _ in range(base.chance.randint(1, 3))]
    if base.chance.random() < 0.6:
        names.append(base.chain(names[0]))
    for name in names:
        base.guards(name)
    for part in ("knobs", "settings", "guards"):
        items = list(base.data[part].items())
        base.chance.shuffle(items)
        base.data[part] = dict(items)
    return base.data
