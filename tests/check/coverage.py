"""Which rows of the rules the tests reach, and which leaves of conditions they see true and false. `python -m tests.check.coverage` lists the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from resolver.compile import open_resolver
from resolver.conditions import Leaf, leaves
from resolver.interpret import leaf_holds
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from resolver.wording import leaf_text
from tests.check import suite

ROWS, LEAVES = 1.0, 0.98
"""The shares that are asked for."""

Place = tuple[str, int]


@dataclass
class Coverage:
    rows: dict[Place, bool] = field(default_factory=dict)
    leaves: dict[tuple[str, int, int], set[bool]] = field(default_factory=dict)
    named: dict[tuple[str, int, int], Leaf] = field(default_factory=dict)

    @property
    def row_share(self) -> float:
        return sum(self.rows.values()) / max(1, len(self.rows))

    @property
    def leaf_share(self) -> float:
        return sum(len(seen) == 2 for seen in self.leaves.values()) / max(1, len(self.leaves))

    def text(self) -> str:
        lines = [f"row never taken: {name}[{i + 1}]" for (name, i), seen in self.rows.items() if not seen]
        for (name, i, k), seen in self.leaves.items():
            if len(seen) < 2:
                never = "neither true nor false" if not seen else "true" if False in seen else "false"
                lines.append(f"leaf never {never}: {name}[{i + 1}]: {leaf_text(self.named[name, i, k])}")
        rows, leafs = len(self.rows), len(self.leaves)
        return "\n".join(
            [*lines, f"rows {self.row_share:.1%} of {rows}; leaves both ways {self.leaf_share:.1%} of {leafs}"]
        )


def measure(resolver: Resolver, resolutions: Iterable[Resolution]) -> Coverage:
    """Walk every condition in every resolution. Leaves that are the same test are looked at once."""
    found = Coverage()
    same: dict[tuple[str, str, object], list[tuple[str, int, int]]] = {}
    tables = {name: [row.when for row in s.rows] for name, s in resolver.rules.settings.items()}
    tables |= {name: [guard.when] for name, guard in resolver.rules.guards.items()}
    for name, conditions in tables.items():
        for i, condition in enumerate(conditions):
            if name in resolver.rules.settings:
                found.rows[name, i] = False
            for k, leaf in enumerate(leaves(condition)):
                found.leaves[name, i, k] = set()
                found.named[name, i, k] = leaf
                same.setdefault((leaf.name, leaf.op, leaf.operand), []).append((name, i, k))
    open_ones = dict(same)
    for resolution in resolutions:
        for name, at in resolver.number.items():
            if (row := resolution.state.rows[at]) >= 0:
                found.rows[name, row] = True
        for key, places in list(open_ones.items()):
            value = leaf_holds(resolution, found.named[places[0]])
            for place in places:
                found.leaves[place].add(value)
            if len(found.leaves[places[0]]) == 2:
                del open_ones[key]
    return found


def of_suite(resolver: Resolver) -> Coverage:
    return measure(resolver, (test.resolution for test in suite.everything(resolver)))


if __name__ == "__main__":
    coverage = of_suite(open_resolver())
    print(coverage.text())
    sys.exit(0 if coverage.row_share >= ROWS and coverage.leaf_share >= LEAVES else 1)
