"""The whole guard set as one Python function without a trace: settings in, the numbers of the guards that fire out.

The compiled rules test guard after guard. Here tests that guards share are made once: a guard stands inside the `if` of a test that it
needs, so that most of them are never looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from resolver.analysis.terms import Fixed, Term, Terms
from resolver.coercions import read
from resolver.compile.codegen import _Code
from resolver.compile.helpers import HELPERS, _ge, _gt, _le, _lt
from resolver.conditions import All, Condition, Leaf, Ref
from resolver.model import Guard, Rules
from resolver.names import Scope

Decide = Callable[..., list[int]]
_WORDS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_OPERATORS = {"<": _lt, "<=": _le, ">": _gt, ">=": _ge}


class Versions(dict[Any, bool]):
    """The outcome of one comparison with a version, by the text that is compared: each text is compared once."""

    def __init__(self, op: str, operand: str) -> None:
        super().__init__()
        self.compare = _OPERATORS[op]
        self.operand = operand

    def __missing__(self, text: Any) -> bool:
        found = self[text] = self.compare(text, self.operand)
        return found


class Readings(dict[Any, Any]):
    """One reading of texts, by text: each text is read once. Many texts make it forget all."""

    def __init__(self, reading: str) -> None:
        super().__init__()
        self.reading = reading

    def __missing__(self, text: Any) -> Any:
        if len(self) > 4096:
            self.clear()
        found = self[text] = read(self.reading, text)
        return found


class _Fast(_Code):
    """Conditions as text, with settings read from their list, files looked at when asked, and comparisons written out."""

    def __init__(self, rules: Rules, scope: Scope) -> None:
        super().__init__(rules, scope)
        self.tables: dict[str, Versions | Readings] = {}
        self.sets: dict[frozenset[Any], str] = {}
        self.terms = Terms(rules, scope)

    def constants(self) -> dict[str, Any]:
        """What the text refers to: version tables and sets."""
        return {**self.tables, **{name: items for items, name in self.sets.items()}}

    def read(self, name: str) -> str:
        m = self.meaning(name)
        if m.kind == "setting":
            return f"S[{self.number[m.base]}]"
        if m.kind == "file":
            return f"look(S[{self.number[m.base]}]).{m.part}"
        if m.kind == "reading":
            self.tables.setdefault(f"_r_{m.part}", Readings(m.part))
            inner = f"S[{self.number[m.base]}]" if m.base in self.number else f"T[{m.base!r}]"
            return f"_r_{m.part}[{inner}]"
        if m.kind == "fact":
            return f"G({m.base!r})"
        return super().read(name)

    def leaf(self, leaf: Leaf) -> str:
        value = self.read(leaf.name)
        if leaf.op not in _OPERATORS:
            return self.equal(leaf, value)
        if isinstance(leaf.operand, Ref):
            right = self.read(leaf.operand.name)
            if not (self.whole(leaf.name) and self.whole(leaf.operand.name)):
                ints = f"(_x := {value}).__class__ is int and (_y := {right}).__class__ is int"
                return f"(_x {leaf.op} _y if {ints} else (_x is not None and {super().leaf(leaf)}))"
            return f"((_x := {value}) is not None and (_y := {right}) is not None and _x {leaf.op} _y)"
        if isinstance(leaf.operand, str):
            name = f"_{_WORDS[leaf.op]}_{leaf.operand.replace('.', '_')}"
            self.tables.setdefault(name, Versions(leaf.op, leaf.operand))
            return f"{name}[{value}]"
        if self.whole(leaf.name):
            return f"((_x := {value}) is not None and _x {leaf.op} {leaf.operand})"
        other = f"(_x is not None and {super().leaf(leaf)})"
        return f"(_x {leaf.op} {leaf.operand} if (_x := {value}).__class__ is int else {other})"

    def equal(self, leaf: Leaf, value: str) -> str:
        """Tests that are no comparisons; sets that are mostly empty, and readings that are mostly null, are passed by first."""
        meaning = self.meaning(leaf.name)
        if leaf.op == "is" and meaning.kind == "extra_set":
            if len(leaf.operand) == 1:
                return f"{leaf.operand[0]!r} in {value}"
            name = f"_set_{len(self.sets)}"
            name = self.sets.setdefault(frozenset(leaf.operand), name)
            return f"({value} and not {name}.isdisjoint({value}))"
        if leaf.op == "is" and meaning.kind == "extra_any":
            return f"(xa and {super().leaf(leaf)})"
        return super().leaf(leaf)

    def whole(self, name: str) -> bool:
        """Whether the name is always a whole number or null."""
        return all(self._whole(term) for term in self.terms.of(name))

    def _whole(self, term: Term) -> bool:
        if isinstance(term, Fixed):
            return term.value is None or type(term.value) is int
        kind, name = term.key[0], term.key[1]
        if kind == "knob":
            return self.rules.knobs[name].type in ("int", "tokens")
        if kind == "fact":
            return self.rules.facts[name].type == "int"
        return (kind == "file" and term.part == "bytes") or (kind == "free" and self.terms.free[term.key].type == "int")


def _parts(guard: Guard) -> list[Condition]:
    """The conditions that must all hold, nested ones among them; engine windows as leaves."""
    out: list[Condition] = []
    todo: list[Condition] = [guard.when]
    while todo:
        part = todo.pop(0)
        if isinstance(part, All):
            todo = [*part.parts, *todo]
        else:
            out.append(part)
    if guard.since:
        out.append(Leaf("engine.version", ">=", guard.since, ()))
    if guard.until:
        out.append(Leaf("engine.version", "<", guard.until, ()))
    return out


_PRICES = (
    ("_read(", 600),
    ("look(", 500),
    ("_any(", 250),
    ("_gt(", 200),
    ("_lt(", 200),
    ("_ge(", 200),
    ("_le(", 200),
    ("choices(", 300),
)


def price(test: str) -> float:
    """About what a test costs, in nanoseconds: calls of helpers are dear, looking up a knob or setting is cheap."""
    calls = sum(test.count(word) * cost for word, cost in _PRICES)
    return calls + 35.0 * (test.count("G(") + test.count(".get(")) + 20.0 * test.count("[") + 10.0 * test.count(" ")


def _order(test: str, rare: Counter[str]) -> tuple[float, str]:
    """What a test costs for each request that it turns away: the smallest goes first."""
    return (price(test) / max(0.001, 1.0 - rare[test] / 1000.0), test)


_EQUAL = re.compile(r"(\S+) == ('[^']*')\Z")


def _same_name(items: list[tuple[int, list[str]]]) -> tuple[str, set[str], set[int]] | None:
    """A name that many guards compare with a text each: its texts, and the guards."""
    values: dict[str, set[str]] = {}
    guards: dict[str, set[int]] = {}
    for number, tests in items:
        for test in tests:
            if match := _EQUAL.match(test):
                values.setdefault(match.group(1), set()).add(match.group(2))
                guards.setdefault(match.group(1), set()).add(number)
    name = max(guards, key=lambda n: (len(guards[n]), n), default=None)
    return None if name is None or len(guards[name]) < 3 else (name, values[name], guards[name])


def _plain(lines: list[str], items: list[tuple[int, list[str]]], indent: str, rare: Counter[str]) -> None:
    """Guard after guard, the test that turns away most for its price first."""
    for number, tests in items:
        ordered = sorted(tests, key=lambda test: _order(test, rare))
        lines += [f"{indent}if {' and '.join(ordered)}:", f"{indent}    fired.append({number})"]


def _write(lines: list[str], items: list[tuple[int, list[str]]], indent: str, rare: Counter[str]) -> None:
    """Write the guards: those that share the most wanted test inside its `if`, and so on."""
    left = list(items)
    while left:
        counts = Counter(test for _, tests in left for test in set(tests))
        if not counts:
            lines.extend(f"{indent}fired.append({number})" for number, _ in left)
            return
        if max(counts.values()) == 1 and (found := _same_name(left)):
            name, values, numbers = found
            lines.append(f"{indent}if {name} in {{{', '.join(sorted(values))}}}:")
            _plain(lines, [item for item in left if item[0] in numbers], indent + "    ", rare)
            left = [item for item in left if item[0] not in numbers]
            continue
        best = max(counts, key=lambda test: (counts[test] * (1.0 - rare[test] / 1000.0) - price(test) / 60.0, test))
        inside = [(n, [t for t in tests if t != best]) for n, tests in left if best in tests]
        left = [(n, tests) for n, tests in left if best not in tests]
        if len(inside) == 1:
            _plain(lines, [(inside[0][0], [best, *inside[0][1]])], indent, rare)
        else:
            lines.append(f"{indent}if {best}:")
            _write(lines, inside, indent + "    ", rare)


def source(rules: Rules, scope: Scope, held: Iterable[Iterable[str]] = ()) -> tuple[str, dict[str, Any]]:
    """The text of `decide(N, V, T, F, xl, xt, xa, xf, look, choices, xs, S)` and the names it uses.

    `held`: for each of some decisions, the tests that held there, by their text: how rarely a test holds decides what is tested first.
    """
    code = _Fast(rules, scope)
    items = [(i, [code.condition(part) for part in _parts(guard)]) for i, guard in enumerate(rules.guards.values())]
    seen = list(held)
    rare: Counter[str] = Counter(test for tests in seen for test in tests)
    for test in rare:
        rare[test] = round(1000 * rare[test] / max(1, len(seen)))
    lines = ["def decide(N, V, T, F, xl, xt, xa, xf, look, choices, xs, S):", "    fired = []", "    G = F.get"]
    _write(lines, items, "    ", rare)
    lines += ["    fired.sort()", "    return fired"]
    return _hoist("\n".join(lines) + "\n"), {**HELPERS, **code.constants()}


_LOOKUP = re.compile(r"\b(?:S\[\d+\]|[VN]\['\w+'\]|G\('[\w.]+'\))")
OFTEN = 5
"""Lookups that stand in the text at least so often are made once, at the start."""


def _hoist(text: str) -> str:
    """The function with its frequent lookups in local variables."""
    often = [lookup for lookup, count in Counter(_LOOKUP.findall(text)).items() if count >= OFTEN]
    names = {lookup: f"_h{i}" for i, lookup in enumerate(often)}
    head, start, body = text.partition("    G = F.get\n")
    first = "".join(f"    {name} = {lookup}\n" for lookup, name in names.items())
    return head + start + first + _LOOKUP.sub(lambda found: names.get(found.group(), found.group()), body)


def tests_of(rules: Rules, scope: Scope) -> list[str]:
    """The text of every test, for counting how often each holds."""
    code = _Fast(rules, scope)
    return list(dict.fromkeys(code.condition(part) for g in rules.guards.values() for part in _parts(g)))


def build(rules: Rules, scope: Scope, calls: Iterable[tuple[Any, ...]] = ()) -> Decide:
    """The function. `calls`: arguments of some decisions, to learn from which tests are rare."""
    names = "N, V, T, F, xl, xt, xa, xf, look, choices, xs, S"
    held = []
    if sample := list(calls):
        code = _Fast(rules, scope)
        tests = list(dict.fromkeys(code.condition(p) for g in rules.guards.values() for p in _parts(g)))
        space: dict[str, Any] = {**HELPERS, **code.constants()}
        exec(f"def measure({names}):\n    G = F.get\n    return ({', '.join(f'bool({t})' for t in tests)},)", space)
        # the names of version tables are given in the order of writing, which is the same each time
        held = [[t for t, holds in zip(tests, space["measure"](*call), strict=True) if holds] for call in sample]
    text, space = source(rules, scope, held)
    exec(compile(text, "<guards>", "exec"), space)
    decide: Decide = space["decide"]
    return decide
