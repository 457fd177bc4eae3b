"""Compare two sets of rules: which requests are newly refused, newly accepted, or changed. One change of each kind and rule, with a witness.

Both sets are laid over the same variables, so that what one refuses and the other does not is a set, found exactly. What differs in the
knobs themselves (their types, values and defaults) is found by trying the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from resolver.analysis.diagram import EMPTY
from resolver.analysis.finding import Witness
from resolver.analysis.model import Model
from resolver.analysis.replay import Case, variants
from resolver.diagnostics import Position
from resolver.knobs import read_text
from resolver.model import Guard
from resolver.resolution import Resolution
from resolver.resolve import Resolver

TRIES = 6


@dataclass(frozen=True, slots=True)
class Change:
    """`kind`: newly-refused, newly-accepted, changed, said-now or said-before. `rule`: what does it. The witness was resolved by both sets of rules."""

    kind: str
    rule: str
    message: str
    witness: Witness
    position: Position | None = None

    def as_json(self) -> dict[str, Any]:
        out = {"kind": self.kind, "rule": self.rule, "message": self.message, "witness": self.witness.as_json()}
        return out | ({"position": str(self.position)} if self.position else {})


class Comparison:
    """`old` and `new` are resolvers; sets are made in one space."""

    def __init__(self, old: Resolver, new: Resolver) -> None:
        self.old = Model(old)
        self.new = Model.of(new, beside=self.old)
        names = [engine.name for engine in self.new.engines]
        self.old.engines = [self._engine(old, name) for name in names]
        self.seen: set[tuple[str, str]] = set()

    def _engine(self, old: Resolver, name: str) -> Any:
        from resolver.diagnostics import RulesError, UsageError

        try:
            return old.engine(name)
        except (UsageError, RulesError):
            return self.new.resolver.engine(name)

    def changes(self) -> Iterator[Change]:
        """Every change, once for each rule that makes it."""
        yield from self._values()
        yield from self._refusals("newly-refused", self.new, self.old)
        yield from self._refusals("newly-accepted", self.old, self.new)
        yield from self._settings()
        yield from self._spoken()

    def both(self, case: Case) -> tuple[Resolution, Resolution]:
        """The case, resolved by both. Knobs are given in the environment, where a name that one side does not know is ignored."""
        rules = self.new.rules if case.knobs.keys() <= self.new.rules.knobs.keys() else self.old.rules
        environ = case.env | {rules.knobs[name].env: text for name, text in case.knobs.items()}
        asked = replace(case, knobs={}, env=environ, facts={**case.facts, "root": str(self.new.resolver.root)})
        return asked.resolve(self.old.resolver), asked.resolve(self.new.resolver)

    def _refusals(self, kind: str, refusing: Model, other: Model) -> Iterator[Change]:
        """A rule that refuses only beside others is left out where one of those is listed: it is the same change."""
        told: set[str] = set()
        beside: list[tuple[Change, set[str]]] = []
        for rule, parts in refusing.refusals.items():
            found = [c for part in parts for c in self._refused(kind, rule, part, refusing, other)]
            alone = next((change for change, others in found if not others), None)
            if alone:
                told.add(rule)
                yield alone
            elif found:
                beside.append(found[0])
        for change, others in sorted(
            beside, key=lambda one: one[0].rule != "no-arm"
        ):  # the arms are why, where both are
            if not others & told:
                told.add(change.rule)
                yield change

    def _refused(
        self, kind: str, rule: str, part: int, refusing: Model, other: Model
    ) -> Iterator[tuple[Change, set[str]]]:
        """Changes that the rule makes, each with the other rules that refuse its witness: up to one that it makes alone."""
        for _ in range(TRIES):
            cells = other.accepted(refusing.space.both(part, other.universe))
            if cells is None:
                return
            here = refusing.space.both(part, refusing.around(cells))
            for case in variants(self.new, cells, here, 20 if refusing.rests_on(here) else 3):
                before, after = self.both(case)
                loser = after if kind == "newly-refused" else before
                winner = before if kind == "newly-refused" else after
                if loser.refused and not winner.refused and _refuses(loser, rule):
                    guard = refusing.rules.guards.get(rule)
                    said = next(d.message for d in loser.diagnostics if d.rule == rule)
                    verb = "refused now" if kind == "newly-refused" else "no longer refused"
                    others = {d.rule for d in loser.diagnostics if d.severity == "refuse"} - {rule}
                    yield Change(kind, rule, said, self._witness(case, verb), guard.position if guard else None), others
                    if not others:
                        return
                    break
            part = refusing.space.minus(part, refusing.around(cells))

    def _witness(self, case: Case, shows: str) -> Witness:
        return Witness(case.as_request(self.new.resolver), shows)

    def _settings(self) -> Iterator[Change]:
        """Settings whose value differs in a request that both accept."""
        space = self.new.space
        for name in self.new.rules.order:
            if name not in self.old.rules.settings:
                continue
            before = dict(self.old.values(name))
            for term, where in self.new.values(name):
                left = space.both(self.old.universe, space.minus(where, before.get(term, EMPTY)))
                found = self._changed(name, left) if left != EMPTY else None
                if found:
                    yield found
                    break

    def _changed(self, name: str, node: int) -> Change | None:
        for _ in range(TRIES):
            cells = self.old.accepted(node)
            if cells is None:
                return None
            for case in variants(self.new, cells, node, 4):
                before, after = self.both(case)
                if before.refused or after.refused or before.setting(name) == after.setting(name):
                    continue
                message = f"{name}: {before.setting(name)!r} before, {after.setting(name)!r} now"
                row = after.winning_row(name)
                return Change("changed", name, message, self._witness(case, message), row.position if row else None)
            node = self.new.space.minus(node, self.new.around(cells))
        return None

    def _spoken(self) -> Iterator[Change]:
        """Warnings and notes that a launch which both accept has now, or had: of others it is told that they are accepted or refused."""
        for kind, here, there in (("said-now", self.new, self.old), ("said-before", self.old, self.new)):
            for guard in here.rules.guards.values():
                if guard.severity == "refuse":
                    continue
                known = there.guard_parts(guard.id) if guard.id in there.rules.guards else ()
                for part in here.guard_parts(guard.id):
                    left = part
                    for gone in known:
                        left = here.space.minus(left, gone)
                    if left != EMPTY and (found := self._said(kind, guard, left, here, there)):
                        yield found
                        break

    def _said(self, kind: str, guard: Guard, node: int, here: Model, there: Model) -> Change | None:
        for _ in range(TRIES):
            inside = here.space.both(node, there.universe)
            cells = there.accepted(inside) if inside != EMPTY else None
            if cells is None:
                return None
            for case in variants(self.new, cells, node, 2):
                before, after = self.both(case)
                mine, its = (after, before) if kind == "said-now" else (before, after)
                if not (mine.refused or its.refused) and _says(mine, guard.id) and not _says(its, guard.id):
                    what = "says this now" if kind == "said-now" else "no longer says this"
                    message = f"{guard.severity}: {guard.reason}"
                    return Change(kind, guard.id, message, self._witness(case, what), guard.position)
            node = here.space.minus(node, here.around(cells))
        return None

    def _values(self) -> Iterator[Change]:
        """Knobs that came, went, or take other values."""
        old, new = self.old.rules.knobs, self.new.rules.knobs
        for name in [*new, *(n for n in old if n not in new)]:
            if name not in old or name not in new:
                kind = "newly-accepted" if name in new else "newly-refused"
                text = "knob {} {}".format((new.get(name) or old[name]).env, "is new" if name in new else "is gone")
                knob = new.get(name) or old[name]
                tried = next((t for t in (*knob.allowed, "1", "x") if not read_text(knob, t).problem), "1")
                yield Change(kind, name, text, Witness({"env": {knob.env: tried}}, text), knob.position)
                continue
            a, b = old[name], new[name]
            for text in dict.fromkeys([*a.allowed, *b.allowed, *_edges(a), *_edges(b), "1", "x", ""]):
                before, after = read_text(a, text), read_text(b, text)
                if bool(before.problem) == bool(after.problem):
                    continue
                kind = "newly-refused" if after.problem else "newly-accepted"
                message = f"{b.env}={text} {after.problem or 'is allowed'}"
                yield Change(kind, f"{name}={text}", message, Witness({"env": {b.env: text}}, message), b.position)
            if a.default != b.default:
                message = f"{name}: default {a.default!r} before, {b.default!r} now"
                yield Change("changed", name, message, Witness({}, message), b.position)


def _edges(knob: Any) -> list[str]:
    """Numbers at the ends of what the knob takes."""
    return [str(n + d) for n in (knob.minimum, knob.maximum) if n is not None for d in (-1, 0, 1)]


def _refuses(resolution: Resolution, rule: str) -> bool:
    return any(d.rule == rule and d.severity == "refuse" for d in resolution.diagnostics)


def _says(resolution: Resolution, rule: str) -> bool:
    return any(d.rule == rule for d in resolution.diagnostics)


def compare(old: Resolver, new: Resolver) -> list[Change]:
    """All changes from the old rules to the new."""
    return list(Comparison(old, new).changes())
