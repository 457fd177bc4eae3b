"""Questions about rules: never, always, implies, disjoint. Each is answered for all requests and for those that are not refused.

A rule is named by the id of a guard, the name of an arm, a row (`max_num_seqs[2]`), or a condition written as YAML
(`{ctx: huge, spec: mtp}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from resolver.analysis import claims
from resolver.analysis.diagram import EMPTY
from resolver.analysis.finding import Witness
from resolver.analysis.model import Model
from resolver.analysis.replay import Claim, replay
from resolver.conditions import Condition, Leaf, leaves, names, read_condition
from resolver.diagnostics import RulesError, UsageError, nearest
from resolver.interpret import holds
from resolver.resolution import Resolution
from resolver.resolve import Resolver

_ROW = re.compile(r"([a-z][a-z0-9_]*)\[([1-9][0-9]*)\]\Z")
QUESTIONS = {"never": 1, "always": 1, "implies": 2, "disjoint": 2}
TRIES = 8


@dataclass(frozen=True, slots=True)
class Rule:
    """What a question is about: its name, and its condition where it is one that is given; `guard` when it is a guard."""

    name: str
    condition: Condition | None = None
    guard: str | None = None
    row: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """`holds` None: not known, since it rests on what cannot be inverted and no witness was found. The witness shows the contrary."""

    question: str
    scope: str
    holds: bool | None
    witness: Witness | None = None
    rests_on: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "question": self.question,
            "scope": self.scope,
            "holds": self.holds,
            "exact": not self.rests_on,
        }
        if self.witness:
            out["witness"] = self.witness.as_json()
        if self.rests_on:
            out["rests_on"] = list(self.rests_on)
        return out


def read_rule(resolver: Resolver, text: str) -> Rule:
    """The rule that is meant. Raises UsageError with the nearest name."""
    rules = resolver.rules
    if text in rules.guards:
        return Rule(text, guard=text)
    if text in rules.arms:
        return Rule(text, Leaf("arm", "is", (text,), ()))
    row = _ROW.match(text)
    if row and row.group(1) in rules.settings and int(row.group(2)) <= len(rules.settings[row.group(1)].rows):
        return Rule(text, row=(row.group(1), int(row.group(2)) - 1))
    if text.lstrip().startswith("{"):
        return Rule(text, _condition(resolver, text))
    names = [*rules.guards, *rules.arms]
    near = nearest(text, names)
    fix = (
        f"did you mean {near}?"
        if near
        else "name a guard, an arm, a row such as `max_num_seqs[2]`, or write {ctx: huge}"
    )
    raise UsageError(f"there is no rule {text[:60]!r}", fix)


def _condition(resolver: Resolver, text: str) -> Condition:
    from resolver.yaml12 import parse

    try:
        document = parse(text, "question")
        condition = read_condition(document, document.data, ())
    except RulesError as error:
        said = error.diagnostics[0]
        raise UsageError(f"the condition cannot be used: {said.message}", said.fix) from None
    scope = resolver.scope
    for name in names(condition):
        if scope.meaning(name) is None:
            near = nearest(name, scope.all_names())
            raise UsageError(
                f"nothing is called {name[:60]!r}", f"did you mean {near}?" if near else "see `launch.py knobs`"
            )
    for leaf in leaves(condition):
        if leaf.op == "state" and leaf.name not in scope.knobs:
            raise UsageError(f"{leaf.name} is not a knob, so it is never {leaf.operand}", "ask `unknown`")
        allowed = resolver.rules.knobs[leaf.name].allowed if leaf.name in scope.knobs else ()
        for value in leaf.operand if leaf.op == "is" and allowed else ():
            if value not in allowed:
                raise UsageError(
                    f"{leaf.name} is never {str(value)[:60]!r}", f"use one of its values: {', '.join(allowed)}"
                )
    return condition


class Asker:
    """Answers questions about one set of rules."""

    def __init__(self, resolver: Resolver, rules: Iterable[Rule]) -> None:
        self.model = Model.of(resolver, [r.condition for r in rules if r.condition is not None])

    def parts(self, rule: Rule) -> tuple[int, ...]:
        """Where the rule holds, in parts."""
        model = self.model
        if rule.guard:
            return model.guard_parts(rule.guard)
        if rule.row:
            node = model.rows(rule.row[0])[0][rule.row[1]]
        else:
            assert rule.condition is not None
            node = model.space.both(model.universe, model.condition(rule.condition))
        return () if node == EMPTY else (node,)

    @staticmethod
    def true_of(rule: Rule) -> Claim:
        """Whether the rule holds in a resolution."""
        if rule.guard:
            return claims.fires(rule.guard)
        if rule.row:
            return claims.wins(*rule.row)
        condition = rule.condition
        assert condition is not None
        return lambda resolution: holds(resolution, condition)

    def ask(self, question: str, rules: tuple[Rule, ...]) -> list[Answer]:
        """Two answers: for all requests, and for those that no other rule refuses."""
        model, space = self.model, self.model.space
        said = f"{question} {' '.join(rule.name for rule in rules)}"
        a = self.parts(rules[0])
        first = self.true_of(rules[0])
        if question == "never":
            against, claim = a, first
        elif question == "always":
            against, claim = self._without((model.universe,), a), _not(first)
        else:
            b, second = self.parts(rules[1]), self.true_of(rules[1])
            if question == "implies":
                against, claim = self._without(a, b), _both(first, _not(second))
            else:
                against = tuple(n for x in a for y in b if (n := space.both(x, y)) != EMPTY)
                claim = _both(first, second)
        but = tuple(rule.guard for rule in rules if rule.guard)
        return [self._answer(said, against, claim), self._accepted(said, against, claim, but)]

    def _without(self, nodes: tuple[int, ...], gone: tuple[int, ...]) -> tuple[int, ...]:
        out = []
        for node in nodes:
            left = node
            for part in gone:
                left = self.model.space.minus(left, part)
            if left != EMPTY:
                out.append(left)
        return tuple(out)

    def _answer(self, said: str, against: tuple[int, ...], claim: Claim) -> Answer:
        scope = "all requests"
        if not against:
            return Answer(said, scope, True)
        for node in against:
            if witness := replay(self.model, node, claim, "the contrary", 200):
                return Answer(said, scope, False, witness)
        return Answer(said, scope, None, rests_on=self._behind(against))

    def _accepted(self, said: str, against: tuple[int, ...], claim: Claim, but: tuple[str, ...]) -> Answer:
        scope = "requests that no other rule refuses"
        tried = []
        for whole in against:
            node = whole
            for _ in range(TRIES):
                found = self.model.accepted(node, but)
                if found is None:
                    break
                here = self.model.space.both(node, self.model.around(found))
                tried.append(here)
                if witness := replay(self.model, here, _both(claim, _unrefused(but)), "the contrary", 100):
                    return Answer(said, scope, False, witness)
                node = self.model.space.minus(node, self.model.around(found))
        if not tried:
            return Answer(said, scope, True)
        return Answer(said, scope, None, rests_on=self._behind(tuple(tried)) or ("refusals of other code",))

    def _behind(self, nodes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(sorted({name for node in nodes for name in self.model.rests_on(node)}))


def _not(claim: Claim) -> Claim:
    return lambda resolution: not claim(resolution)


def _both(one: Claim, two: Claim) -> Claim:
    return lambda resolution: one(resolution) and two(resolution)


def _unrefused(but: tuple[str, ...]) -> Claim:
    def claim(resolution: Resolution) -> bool:
        return all(d.severity not in ("refuse", "error") or d.rule in but for d in resolution.diagnostics)

    return claim


def ask(resolver: Resolver, question: str, texts: list[str]) -> list[Answer]:
    """Answer one question. Raises UsageError for a rule that is not there."""
    rules = tuple(read_rule(resolver, text) for text in texts)
    return Asker(resolver, rules).ask(question, rules)
