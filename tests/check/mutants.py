"""Mutants of rules: a leaf flipped, a guard dropped, a bound moved by one, two rows swapped. Each is one small change of one rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from resolver.conditions import ALWAYS, All, Any_, Condition, Leaf, Not, leaves
from resolver.model import Guard, Rules, Setting
from resolver.wording import leaf_text


@dataclass(frozen=True)
class Mutant:
    """`guard` or `setting` is what the rule becomes; a guard None with its name in `rule` is dropped."""

    kind: str
    rule: str
    says: str
    guard: Guard | None = None
    setting: Setting | None = None

    def apply(self, rules: Rules) -> Rules:
        """The rules with this one change."""
        if self.setting is not None:
            return rules._replace(settings={**rules.settings, self.rule: self.setting})
        guards = dict(rules.guards)
        if self.guard is None:
            # the order of guards must stay: a dropped one becomes one that never holds
            guards[self.rule] = guards[self.rule]._replace(when=Any_(()))
        else:
            guards[self.rule] = self.guard
        return rules._replace(guards=guards)

    @property
    def conditions(self) -> list[Condition]:
        if self.setting is not None:
            return [row.when for row in self.setting.rows]
        return [] if self.guard is None else [self.guard.when]


def put(condition: Condition, at: int, new: Condition) -> Condition:
    """The condition with its `at`-th leaf replaced."""

    def walk(c: Condition, n: int) -> tuple[Condition, int]:
        if isinstance(c, Leaf):
            return (new if n == at else c), n + 1
        if isinstance(c, Not):
            inner, n = walk(c.inner, n)
            return Not(inner), n
        parts = []
        for part in c.parts:
            made, n = walk(part, n)
            parts.append(made)
        return (All(tuple(parts)) if isinstance(c, All) else Any_(tuple(parts))), n

    return walk(condition, 0)[0]


def of_condition(condition: Condition) -> Iterator[tuple[str, str, Condition]]:
    """(kind, what was done, the new condition)."""
    for at, leaf in enumerate(leaves(condition)):
        yield "flip", f"not ({leaf_text(leaf)})", put(condition, at, Not(leaf))
        if leaf.op in ("<", "<=", ">", ">=") and type(leaf.operand) is int:
            for step in (-1, 1):
                moved = replace(leaf, operand=leaf.operand + step)
                yield "bound", f"{leaf_text(moved)} for {leaf_text(leaf)}", put(condition, at, moved)


def mutants(rules: Rules) -> Iterator[Mutant]:
    """All of them, in the order of the rules."""
    for guard in rules.guards.values():
        yield Mutant("drop", guard.id, "dropped")
        for kind, says, when in of_condition(guard.when):
            yield Mutant(kind, guard.id, says, guard=guard._replace(when=when))
    for setting in rules.settings.values():
        rows = setting.rows
        if all(isinstance(row.when, Leaf) and row.when.name == "arm" for row in rows):
            continue  # what an arm sets: the arm's own conditions are rows of the setting `arm`
        for i, row in enumerate(rows):
            for kind, says, when in of_condition(row.when):
                changed = setting._replace(rows=(*rows[:i], row._replace(when=when), *rows[i + 1 :]))
                yield Mutant(kind, setting.name, f"row {i + 1}: {says}", setting=changed)
            if i + 1 < len(rows) and rows[i + 1].when != ALWAYS:  # the loader refuses a default that is not last
                swapped = setting._replace(rows=(*rows[:i], rows[i + 1], row, *rows[i + 2 :]))
                yield Mutant("swap", setting.name, f"rows {i + 1} and {i + 2} swapped", setting=swapped)
