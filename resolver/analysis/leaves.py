"""One leaf of a condition as a set: the only place where the meaning of leaves is told a second time, beside the compiled rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resolver.analysis import cells as c
from resolver.analysis.diagram import EMPTY, Space
from resolver.analysis.terms import ENGINE_FACTS, SET_KINDS, Fixed, Term
from resolver.analysis.variables import Domain, Key
from resolver.conditions import Leaf, Ref
from resolver.engine import Engine
from resolver.interpret import _STATES

if TYPE_CHECKING:
    from resolver.model import Rules
    from resolver.names import Meaning, Scope
    from resolver.resolve import Resolver


class Leaves:
    """Mixed into the model, which has the space, the variables and the names."""

    resolver: Resolver
    rules: Rules
    scope: Scope
    engines: list[Engine]
    space: Space
    domains: list[Domain]

    def variable(self, key: Key) -> int:
        raise NotImplementedError

    def values(self, name: str) -> list[tuple[Term, int]]:
        raise NotImplementedError

    def set_by_launcher(self, dest: str) -> int:
        raise NotImplementedError

    def leaf(self, leaf: Leaf) -> int:
        """Where the leaf holds."""
        meaning = self.scope.meaning(leaf.name)
        assert meaning is not None, leaf.name
        if leaf.op == "state":
            n = self.variable(("knob", leaf.name))
            wanted = _STATES[leaf.operand]
            return self.space.cells(n, (i for i, cell in enumerate(self.domains[n].cells) if cell.state in wanted))
        if meaning.kind in SET_KINDS or (meaning.kind == "fact" and self.rules.facts[meaning.base].type == "set"):
            return self._set_leaf(leaf, meaning)
        found = []
        for term, where in self.values(leaf.name):
            if isinstance(leaf.operand, Ref):
                for other, there in self.values(leaf.operand.name):
                    both = self.space.both(where, there)
                    if both != EMPTY:
                        found.append(self.space.both(both, self._pair(leaf.op, term, other)))
            else:
                found.append(self.space.both(where, self._test(leaf, term)))
        return self.space.union(found)

    # scalars

    def _test(self, leaf: Leaf, term: Term) -> int:
        """Where the leaf holds of one term."""
        if leaf.op in ("is", "unknown"):
            operand = (None,) if leaf.op == "unknown" else leaf.operand
            if isinstance(term, Fixed):
                return int(c.is_one_of(c.exact(term.value), operand))
            n = self.variable(term.key)
            values = self.domains[n].values(term.part)
            return self.space.cells(n, (i for i, cell in enumerate(values) if c.is_one_of(cell, operand)))
        return self._pair(leaf.op, term, Fixed(leaf.operand))

    def _pair(self, op: str, left: Term, right: Term) -> int:
        """Where the comparison of two terms holds; what the cells leave open becomes an atom."""
        yes, maybe = [], []
        for a, here in self.cells_of(left):
            for b, there in self.cells_of(right):
                outcome = c.compare(op, a, b)
                if outcome is None:
                    maybe.append(self.space.both(here, there))
                elif outcome:
                    yes.append(self.space.both(here, there))
        found = self.space.union(yes)
        if maybe:
            atom = self.space.cells(self.variable(("atom", op, left, right)), [1])
            found = self.space.either(found, self.space.both(self.space.union(maybe), atom))
        return found

    def cells_of(self, term: Term) -> list[tuple[c.Cell, int]]:
        if isinstance(term, Fixed):
            return [(c.exact(term.value), 1)]
        n = self.variable(term.key)
        return [(cell, self.space.cells(n, [i])) for i, cell in enumerate(self.domains[n].values(term.part))]

    # sets

    def flag_given(self, dest: str) -> int:
        """Where the user's flags set the destination: only engines that have the flag see it."""
        n = self.variable(("flag", dest))
        given = self.space.cells(n, (i for i, cell in enumerate(self.domains[n].cells) if cell.last is not None))
        return self.space.both(given, self.engines_with(lambda engine: dest in engine.flags))

    def engines_with(self, test: Any) -> int:
        return self.space.cells(self.variable(("engine",)), (i for i, e in enumerate(self.engines) if test(e)))

    def _set_leaf(self, leaf: Leaf, meaning: Meaning) -> int:
        if leaf.op == "unknown":
            if meaning.kind == "fact" and meaning.base not in ENGINE_FACTS:
                return self.space.cells(self.variable(("known", meaning.base)), [1])
            return EMPTY
        if leaf.op != "is":
            return EMPTY
        return self.space.union(self._member(leaf.name, meaning, item) for item in leaf.operand)

    def _member(self, name: str, meaning: Meaning, item: Any) -> int:
        """Where the set holds the item."""
        base = meaning.base
        if meaning.kind == "choices":
            return self.engines_with(lambda e: item in e.choices(base))
        if meaning.kind == "extra_any":
            n = self.variable(("flag", base))
            there = (i for i, cell in enumerate(self.domains[n].cells) if item in cell.every)
            return self.space.both(self.flag_given(base), self.space.cells(n, there))
        if meaning.kind == "extra_set":
            if not any(item in e.flags for e in self.engines):
                return EMPTY
            given = self.flag_given(item)
            if name == "extra.flags":
                return given
            return self.space.both(given, self.set_by_launcher(item))
        if base in ENGINE_FACTS:
            sets = {"engine.overlays": "overlays", "engine.flags": "flags", "engine.variables": "variables"}
            return self.engines_with(lambda e: item in getattr(e, sets[base]))
        member = self.space.cells(self.variable(("member", base, item)), [1])
        return self.space.minus(member, self.space.cells(self.variable(("known", base)), [1]))
