"""Write tests/check/decisions.jsonl: decisions that kill the mutants which no other test kills. `python -m tests.check.pin` after a change of rules.

Each line is one request, one rule, and what the rule does there. Lines that still hold stay; those that no longer hold are listed and
dropped; missing ones are made from the analyser's witnesses. What changed is read in the diff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from resolver.analysis.model import Model
from resolver.analysis.replay import replay
from resolver.compile import open_resolver
from resolver.interpret import leaf_holds
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tests.check import suite
from tests.check.coverage import of_suite
from tests.check.mutants import Mutant
from tests.check.mutation import Suite, distinct, run, sample


def entry(resolver: Resolver, rule: str, request: Any) -> dict[str, Any]:
    portable = json.loads(json.dumps(request))
    return {"rule": rule, "is": suite.decided(suite.resolve_request(resolver, portable), rule), "request": portable}


def still_good(resolver: Resolver) -> Iterator[dict[str, Any]]:
    """The lines that hold with the rules as they are."""
    tests = iter(suite.decisions(resolver))
    for line in suite.DECISIONS.read_text(encoding="utf-8").splitlines() if suite.DECISIONS.exists() else ():
        found = json.loads(line)
        if found["rule"] not in resolver.rules.guards and found["rule"] not in resolver.rules.settings:
            print(f"dropped, the rule is gone: {found['rule']}")
        elif next(tests).fails(resolver):
            print(f"dropped, it no longer holds: {line}")
        else:
            yield found


def for_mutants(resolver: Resolver, survivors: list[Mutant]) -> Iterator[dict[str, Any]]:
    """One decision for each surviving mutant: a request in which it gives something else."""
    model = Model.of(resolver, [c for m in survivors for c in m.conditions])
    tests = Suite(resolver)
    for mutant in survivors:

        def other(resolution: Resolution, mutant: Mutant = mutant) -> bool:
            return tests.differs(suite.Test("", resolution, lambda _: False), mutant)

        witness = next((w for node in distinct(model, mutant) if (w := replay(model, node, other, "", 150))), None)
        if witness is None:
            print(f"no request found for {mutant.rule}: {mutant.says}")
        else:
            yield entry(resolver, mutant.rule, witness.request)


def for_coverage(resolver: Resolver) -> Iterator[dict[str, Any]]:
    """Requests for rows that no test takes, and for leaves that no test sees both ways."""
    found = of_suite(resolver)
    model = Model.of(resolver)
    for (name, i), seen in found.rows.items():
        if not seen:
            number = resolver.number[name]
            witness = replay(model, model.rows(name)[0][i], lambda r, n=number, i=i: r.state.rows[n] == i, "")
            if witness:
                yield entry(resolver, name, witness.request)
    for place, values in found.leaves.items():
        leaf = found.named[place]
        for wanted in {True, False} - values:
            node = model.condition(leaf) if wanted else model.space.other(model.condition(leaf))
            node = model.space.both(node, model.universe)
            witness = replay(model, node, lambda r, leaf=leaf, w=wanted: leaf_holds(r, leaf) == w, "")
            if witness:
                yield entry(resolver, place[0], witness.request)


def write(resolver: Resolver, entries: list[dict[str, Any]]) -> None:
    lines = {json.dumps(e, ensure_ascii=False, separators=(",", ":")) for e in entries}
    suite.DECISIONS.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")


if __name__ == "__main__":
    opened = open_resolver()
    kept = list(still_good(opened))
    write(opened, kept)
    report = run(opened, sample(opened, None))
    print(f"{report.share:.1%} killed before, {len(report.survivors)} survive")
    kept += for_mutants(opened, report.survivors)
    write(opened, kept)
    kept += for_coverage(opened)
    write(opened, kept)
    print(f"{len(kept)} decisions")
    print(run(opened, report.survivors).text())
