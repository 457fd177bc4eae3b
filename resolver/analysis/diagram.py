"""Sets of assignments as decision diagrams over variables with finitely many cells: canonical, so equal sets are the same node.

A node is a number: 0 the empty set, 1 everything. Variables are tested in the order of their numbers, each cell once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

EMPTY, FULL = 0, 1
_END = 1 << 30


class Space:
    """The diagrams over variables of the given sizes (how many cells each has)."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self.variable = [_END, _END]
        self.children: list[tuple[int, ...]] = [(), ()]
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._and: dict[tuple[int, int], int] = {}
        self._not: dict[int, int] = {0: 1, 1: 0}

    def node(self, variable: int, children: tuple[int, ...]) -> int:
        """The node that goes on with `children[i]` when the variable is in cell i."""
        first = children[0]
        if all(child == first for child in children):
            return first
        key = (variable, children)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.variable)
            self.variable.append(variable)
            self.children.append(children)
        return found

    def cells(self, variable: int, allowed: Iterable[int]) -> int:
        """All assignments in which the variable is in one of the cells."""
        wanted = set(allowed)
        return self.node(variable, tuple(int(i in wanted) for i in range(self.sizes[variable])))

    def both(self, a: int, b: int) -> int:
        """The intersection."""
        if a == b or b == FULL:  # noqa: PLR1714 - the hot path
            return a
        if a == FULL:
            return b
        if a == EMPTY or b == EMPTY:  # noqa: PLR1714 - the hot path
            return EMPTY
        key = (a, b) if a < b else (b, a)
        found = self._and.get(key)
        if found is not None:
            return found
        va, vb = self.variable[a], self.variable[b]
        both = self.both
        if va == vb:
            made = self.node(va, tuple(map(both, self.children[a], self.children[b])))
        elif va < vb:
            made = self.node(va, tuple(both(child, b) for child in self.children[a]))
        else:
            made = self.node(vb, tuple(both(a, child) for child in self.children[b]))
        self._and[key] = made
        return made

    def other(self, a: int) -> int:
        """The complement."""
        found = self._not.get(a)
        if found is None:
            found = self.node(self.variable[a], tuple(map(self.other, self.children[a])))
            self._not[a] = found
            self._not[found] = a
        return found

    def either(self, a: int, b: int) -> int:
        """The union."""
        if a == b or b == EMPTY:  # noqa: PLR1714 - the hot path
            return a
        if a == EMPTY:
            return b
        if a == FULL or b == FULL:  # noqa: PLR1714 - the hot path
            return FULL
        return self.other(self.both(self.other(a), self.other(b)))

    def minus(self, a: int, b: int) -> int:
        """What is in `a` and not in `b`."""
        return self.both(a, self.other(b))

    def union(self, nodes: Iterable[int]) -> int:
        """The union of many, joined in pairs so that the parts stay small."""
        todo = sorted({n for n in nodes if n != EMPTY}, reverse=True)
        if not todo:
            return EMPTY
        while len(todo) > 1:
            todo = [self.either(*todo[i : i + 2]) if i + 1 < len(todo) else todo[i] for i in range(0, len(todo), 2)]
        return todo[0]

    def within(self, a: int, b: int) -> bool:
        """Whether every assignment of `a` is in `b`."""
        return self.minus(a, b) == EMPTY

    def support(self, a: int) -> set[int]:
        """The variables on which the set depends."""
        seen: set[int] = set()
        found: set[int] = set()
        todo = [a]
        while todo:
            n = todo.pop()
            if n > FULL and n not in seen:
                seen.add(n)
                found.add(self.variable[n])
                todo += self.children[n]
        return found

    def contains(self, a: int, assignment: Sequence[int]) -> bool:
        """Whether one full assignment (a cell for each variable) is in the set."""
        while a > FULL:
            a = self.children[a][assignment[self.variable[a]]]
        return a == FULL

    def cheapest(self, a: int, costs: Sequence[Sequence[int]]) -> dict[int, int] | None:
        """The member with the smallest sum of costs: a cell for each variable that matters. None when the set is empty."""
        if a == EMPTY:
            return None
        memo: dict[int, tuple[int, int]] = {FULL: (0, -1), EMPTY: (_END, -1)}

        def walk(n: int) -> tuple[int, int]:
            if n not in memo:
                price = costs[self.variable[n]]
                memo[n] = min((walk(c)[0] + price[i], i) for i, c in enumerate(self.children[n]))
            return memo[n]

        walk(a)
        out = {}
        while a != FULL:
            cell = memo[a][1]
            out[self.variable[a]] = cell
            a = self.children[a][cell]
        return out

    def members(self, a: int, costs: Sequence[Sequence[int]], limit: int) -> Iterator[dict[int, int]]:
        """Up to `limit` members, cheap ones first, each unlike the ones before."""
        for _ in range(limit):
            found = self.cheapest(a, costs)
            if found is None:
                return
            yield found
            here = FULL
            for variable, cell in found.items():
                here = self.both(here, self.cells(variable, [cell]))
            a = self.minus(a, here)
