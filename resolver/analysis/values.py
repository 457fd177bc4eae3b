"""What a name stands for in which requests: a setting is read through the rows of its table, the first match first."""

from __future__ import annotations

from resolver import coercions, expressions
from resolver.analysis import cells as c
from resolver.analysis.diagram import EMPTY, FULL
from resolver.analysis.leaves import Leaves
from resolver.analysis.terms import Base, Fixed, Term, Terms
from resolver.expressions import Const, Expression, Name
from resolver.knobs import EMPTY as STATE_EMPTY
from resolver.knobs import FREE_TYPES, GIVEN
from resolver.names import Meaning

Parts = list[tuple[Term, int]]
"""What a name stands for, and in which requests."""

TEXTS = ("decimal", "choice", "json")
"""Types of knobs whose value is the text itself, besides those that take any text."""


class Values(Leaves):
    """Mixed into the model."""

    terms: Terms
    _values: dict[str, Parts]

    def rows(self, setting: str) -> tuple[list[int], list[int]]:
        raise NotImplementedError

    def nulls(self, term: Term) -> int:
        """Where the term is null."""
        if isinstance(term, Fixed):
            return FULL if term.value is None else EMPTY
        n = self.variable(term.key)
        return self.space.cells(n, (i for i, cell in enumerate(self.domains[n].values(term.part)) if cell == c.NULL))

    def values(self, name: str) -> Parts:
        """What the name stands for; the parts are disjoint and cover everything."""
        found = self._values.get(name)
        if found is None:
            joined: dict[Term, list[int]] = {}
            for term, where in self._parts(name):
                if where != EMPTY:
                    joined.setdefault(term, []).append(where)
            found = self._values[name] = [(term, self.space.union(nodes)) for term, nodes in joined.items()]
        return found

    def _parts(self, name: str) -> Parts:
        meaning = self.scope.meaning(name)
        assert meaning is not None, name
        if meaning.kind == "extra_last":
            there = self.flag_given(meaning.base)
            return [(Base(("flag", meaning.base), "last"), there), (Fixed(None), self.space.other(there))]
        if meaning.kind == "setting":
            out: Parts = []
            wins, _ = self.rows(meaning.base)
            for row, where in zip(self.rules.settings[meaning.base].rows, wins, strict=True):
                out += self.expression(row.value, where)
            return out + [(Fixed(None), self.space.other(self.space.union(wins)))]
        if meaning.kind == "file":
            return [
                piece
                for term, where in self.values(meaning.base)
                for piece in self._unless_null(term, where, self.terms.file(term, meaning.part, meaning.base))
            ]
        if meaning.kind == "reading":
            return [p for term, where in self.values(meaning.base) for p in self._reading(meaning, term, where)]
        return [(term, FULL) for term in self.terms.of(name)]

    def _unless_null(self, term: Term, where: int, result: Term) -> Parts:
        null = self.space.both(where, self.nulls(term))
        return [(Fixed(None), null), (result, self.space.minus(where, null))]

    def _reading(self, meaning: Meaning, term: Term, where: int) -> Parts:
        """A reading of a setting reads its value; one of a knob reads its text, which a value that is null may have too (`64k`)."""
        out: Parts = []
        if not (isinstance(term, Base) and term.key[0] == "knob"):
            return self._unless_null(term, where, self.terms.reading(meaning.part, term, meaning.base))
        knob = self.rules.knobs[term.key[1]]
        of_text = meaning.base == knob.name
        n = self.variable(term.key)
        for i, cell in enumerate(self.domains[n].cells):
            known: tuple[str | int | bool | None, ...] = ()
            if of_text and cell.state != GIVEN:
                known = ("" if cell.state == STATE_EMPTY and knob.empty == "value" else knob.default,)
            elif cell.value.shape == "exact" and (not of_text or knob.type in FREE_TYPES or knob.type in TEXTS):
                known = (cell.value.value,)
            if known and not knob.secret:
                here = self.space.both(where, self.space.cells(n, [i]))
                out.append((Fixed(coercions.read(meaning.part, known[0])), here))
                where = self.space.minus(where, here)
        reading = self.terms.reading(meaning.part, term, meaning.base)
        return out + ([(reading, where)] if of_text else self._unless_null(term, where, reading))

    def expression(self, expression: Expression, where: int) -> Parts:
        if where == EMPTY:
            return []
        if isinstance(expression, Const):
            return [(Fixed(expression.value), where)]
        if isinstance(expression, Name):
            return [(term, self.space.both(where, there)) for term, there in self.values(expression.name)]
        names = tuple(dict.fromkeys(expressions.names(expression)))
        inputs = [self.terms.of(name) for name in names]
        if self.terms.combinations(inputs) == [None]:
            return [(self.terms.combined(expression, names, None), where)]
        pieces: list[tuple[tuple[Term, ...], int]] = [((), where)]
        null = EMPTY
        for name in names:
            longer = []
            for terms, there in pieces:
                for term, here in self.values(name):
                    both = self.space.both(there, here)
                    gone = self.space.both(both, self.nulls(term))
                    null = self.space.either(null, gone)
                    both = self.space.minus(both, gone)
                    if both != EMPTY:
                        longer.append(((*terms, term), both))
            pieces = longer
        return [(Fixed(None), null)] + [(self.terms.combined(expression, names, t), w) for t, w in pieces]
