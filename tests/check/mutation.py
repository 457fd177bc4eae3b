"""Mutation of the rules: is every small change of a rule noticed by a test? `python -m tests.check.mutation [SAMPLE]` lists the survivors.

A mutant is killed when a recorded run, an example or a pinned decision fails with it. One that no request can tell from the rules is
equivalent; the analyser proves that, and such mutants do not count.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from resolver.analysis.diagram import EMPTY
from resolver.analysis.model import Model
from resolver.analysis.terms import Fixed, Term
from resolver.compile import open_resolver
from resolver.resolve import Resolver
from tests.check import suite
from tests.check.mutants import Mutant, mutants
from tests.check.suite import Test

CANDIDATES = 25
"""Tests that are really run against a mutant, of those in which the rule itself gives something else."""


@dataclass
class Report:
    killed: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    equivalent: list[Mutant] = field(default_factory=list)
    by: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def share(self) -> float:
        """Killed, of those that some request can tell from the rules."""
        return self.killed / max(1, self.killed + len(self.survivors))

    def text(self) -> str:
        lines = [f"survives: {m.rule}: {m.kind}: {m.says}" for m in self.survivors]
        by = ", ".join(f"{count} by {name}" for name, count in sorted(self.by.items()))
        total = self.killed + len(self.survivors)
        return "\n".join(
            [
                *lines,
                f"{self.killed} of {total} mutants killed ({self.share:.1%}; {by}); {len(self.equivalent)} more are equivalent",
            ]
        )


def noticed(test: Test, mutated: Resolver) -> bool:
    """Whether the test fails; one that breaks off has failed too."""
    try:
        return test.fails(mutated)
    except Exception:
        return True


class Suite:
    """All tests of the rules, run once; examples and decisions by the rule that they are about."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.about: dict[str, list[Test]] = defaultdict(list)
        for test in (*suite.decisions(resolver), *suite.examples(resolver)):
            self.about[test.about or ""].append(test)
        self.recorded = list(suite.recorded(resolver))

    def differs(self, test: Test, mutant: Mutant) -> bool:
        """Whether the mutated rule gives something else in this test: a quick look."""
        if mutant.setting is not None:
            return bool(suite.value_under(test.resolution, mutant.setting) != test.resolution.setting(mutant.rule))
        fired = mutant.rule in {guard.id for guard in test.resolution.fired}
        return suite.fires_under(test.resolution, mutant.guard) != fired

    def killer(self, mutant: Mutant) -> str | None:
        """What kills the mutant."""
        mutated: Resolver | None = None
        guard = self.resolver.rules.guards.get(mutant.rule)
        recorded = self.recorded if guard is None or guard.origins else []
        for tests in (self.about[mutant.rule], recorded):
            tried = 0
            for test in tests:
                if not self.differs(test, mutant):
                    continue
                mutated = mutated or suite.with_rules(self.resolver, mutant.apply(self.resolver.rules))
                if noticed(test, mutated):
                    return test.name.split()[0]
                tried += 1
                if tried == CANDIDATES:
                    break
        return None


def distinct(model: Model, mutant: Mutant) -> list[int]:
    """Where the mutant gives something else, in parts; none for an equivalent one."""
    space = model.space
    if mutant.setting is None:
        before = model.guard_parts(mutant.rule)
        guard = model.rules.guards[mutant.rule]
        window = space.both(model.universe, model.window(guard.since, guard.until))
        after = space.both(window, model.condition(mutant.guard.when)) if mutant.guard else EMPTY
        lost = [space.minus(part, after) for part in before]
        gained = after
        for part in before:
            gained = space.minus(gained, part)
        return [node for node in (*lost, gained) if node != EMPTY]
    now: dict[Term, int] = {}
    left = model.universe
    for row in mutant.setting.rows:
        hold = space.both(left, model.condition(row.when))
        left = space.minus(left, hold)
        for term, where in model.expression(row.value, hold):
            now[term] = space.either(now.get(term, EMPTY), where)
    now[Fixed(None)] = space.either(now.get(Fixed(None), EMPTY), left)
    old = {term: space.both(model.universe, where) for term, where in model.values(mutant.rule)}
    return [node for term, where in now.items() if (node := space.minus(where, old.get(term, EMPTY))) != EMPTY]


def equivalent(resolver: Resolver, survivors: list[Mutant]) -> list[Mutant]:
    """Those that no request can tell from the rules, proved by the analyser."""
    model = Model.of(resolver, [c for m in survivors for c in m.conditions])
    return [mutant for mutant in survivors if not distinct(model, mutant)]


def run(resolver: Resolver, chosen: Iterable[Mutant]) -> Report:
    """Try each mutant."""
    tests = Suite(resolver)
    report = Report()
    alive = []
    for mutant in chosen:
        if killer := tests.killer(mutant):
            report.killed += 1
            report.by[killer] += 1
        else:
            alive.append(mutant)
    report.equivalent = equivalent(resolver, alive)
    report.survivors = [m for m in alive if m not in report.equivalent]
    return report


def sample(resolver: Resolver, size: int | None, seed: int = 7) -> list[Mutant]:
    """All mutants, or a sample that is the same each time."""
    found = list(mutants(resolver.rules))
    return found if size is None or size >= len(found) else random.Random(seed).sample(found, size)


if __name__ == "__main__":
    opened = open_resolver()
    result = run(opened, sample(opened, int(sys.argv[1]) if len(sys.argv) > 1 else None))
    print(result.text())
    sys.exit(0 if result.share >= 0.95 else 1)
