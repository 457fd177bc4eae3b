"""Compile the rules into two plain Python functions, as source text.

`settings` computes every setting in order, from knob states, values and texts, facts and the user's engine flags. It returns three
lists: values, texts (None: as the value prints), and the number of the row that won. `guards` gets those values too and returns the
numbers of the guards that fire. Between the two the launch is rendered, so that guards know which flags it really sets.
"""

from __future__ import annotations

from resolver.conditions import All, Any_, Condition, Leaf, Not, Ref
from resolver.expressions import Const, Expression, Name, Operation
from resolver.model import Guard, Rules
from resolver.names import Meaning, Scope, row_names

STATE_NUMBER = {"unset": 0, "empty": 1, "given": 2}
_COMPARE = {"<": "_lt", "<=": "_le", ">": "_gt", ">=": "_ge"}
_SETS = ("set",)


class _Code:
    def __init__(self, rules: Rules, scope: Scope) -> None:
        self.rules = rules
        self.scope = scope
        self.number = {name: i for i, name in enumerate(rules.order)}
        self.lines: list[str] = []
        self.used_files = sorted(
            {
                meaning.base
                for name in self._all_names()
                if (meaning := scope.meaning(name)) is not None and meaning.kind == "file"
            }
        )

    def _all_names(self) -> list[str]:
        from resolver import conditions

        found = [name for s in self.rules.settings.values() for row in s.rows for name in row_names(row)]
        return found + [name for g in self.rules.guards.values() for name in conditions.names(g.when)]

    # names

    def meaning(self, name: str) -> Meaning:
        meaning = self.scope.meaning(name)
        assert meaning is not None, name
        return meaning

    def read(self, name: str) -> str:
        """Python that gives the value of a name."""
        m = self.meaning(name)
        if m.kind == "knob":
            return f"V[{m.base!r}]"
        if m.kind == "setting":
            return f"s{self.number[m.base]}"
        if m.kind == "fact":
            return f"F.get({m.base!r})"
        if m.kind == "extra_last":
            return f"xl.get({m.base!r})"
        if m.kind == "extra_any":
            return f"xa.get({m.base!r}, ())"
        if m.kind == "extra_set":
            return "xf" if m.base == "extra.flags" else "xs"
        if m.kind == "choices":
            return f"choices({m.base!r})"
        if m.kind == "file":
            return f"p{self.number[m.base]}.{m.part}"
        inner = f"T[{m.base!r}]" if m.base in self.scope.knobs else f"s{self.number[m.base]}"
        return f"_read({m.part!r}, {inner})"

    def is_set(self, name: str) -> bool:
        m = self.meaning(name)
        if m.kind in ("extra_any", "extra_set", "choices"):
            return True
        return m.kind == "fact" and self.rules.facts[m.base].type in _SETS

    # conditions

    def condition(self, c: Condition) -> str:
        if isinstance(c, Leaf):
            return self.leaf(c)
        if isinstance(c, Not):
            return f"not ({self.condition(c.inner)})"
        if isinstance(c, (All, Any_)):
            if not c.parts:
                return "True" if isinstance(c, All) else "False"
            word = " and " if isinstance(c, All) else " or "
            return "(" + word.join(self.condition(p) for p in c.parts) + ")"
        raise TypeError(c)

    def leaf(self, leaf: Leaf) -> str:
        value = self.read(leaf.name)
        if leaf.op == "state":
            state = f"N[{leaf.name!r}]"
            return f"{state} != 2" if leaf.operand == "blank" else f"{state} == {STATE_NUMBER[leaf.operand]}"
        if leaf.op == "unknown":
            return f"{value} is None"
        if leaf.op == "is":
            if self.is_set(leaf.name):
                if len(leaf.operand) == 1:
                    return f"{leaf.operand[0]!r} in ({value} or ())"
                return f"_any({leaf.operand!r}, {value})"
            if len(leaf.operand) == 1:
                return self.equals(value, leaf.operand[0])
            if any(isinstance(item, bool) for item in leaf.operand):
                return "(" + " or ".join(self.equals(value, item) for item in leaf.operand) + ")"
            return f"{value} in {leaf.operand!r}"
        right = self.read(leaf.operand.name) if isinstance(leaf.operand, Ref) else repr(leaf.operand)
        return f"{_COMPARE[leaf.op]}({value}, {right})"

    @staticmethod
    def equals(value: str, wanted: object) -> str:
        return f"{value} is {wanted}" if isinstance(wanted, bool) else f"{value} == {wanted!r}"

    # expressions

    def expression(self, e: Expression) -> str:
        if isinstance(e, Const):
            return repr(e.value)
        if isinstance(e, Name):
            return self.read(e.name)
        if isinstance(e, Operation):
            arguments = ", ".join(self.expression(a) for a in e.arguments)
            return f"_op_{ {'+': 'add', '-': 'sub', '*': 'mul', '//': 'div'}.get(e.operator, e.operator) }({arguments})"
        parts = ", ".join(repr(p) if isinstance(p, str) else self.text(p.name) for p in e.parts)
        return f"_join({parts})"

    def text(self, name: str) -> str:
        """Python that gives the text of a name: the user's own where there is one."""
        m = self.meaning(name)
        if m.kind == "knob":
            return f"T[{m.base!r}]"
        if m.kind == "setting":
            n = self.number[m.base]
            return f"(s{n} if x{n} is None else x{n})"
        if m.kind == "extra_last":
            return f"xt.get({m.base!r})"
        return self.read(name)

    def own_text(self, e: Expression) -> str:
        if isinstance(e, Name):
            m = self.meaning(e.name)
            if m.kind == "knob":
                return f"T[{m.base!r}]"
            if m.kind == "setting":
                return f"x{self.number[m.base]}"
            if m.kind == "extra_last":
                return f"xt.get({m.base!r})"
        return "None"

    # the function

    def settings(self) -> None:
        for name in self.rules.order:
            n = self.number[name]
            self.lines.append(f"    # {name}")
            closed = False
            for i, row in enumerate(self.rules.settings[name].rows):
                always = isinstance(row.when, All) and not row.when.parts
                head = (
                    ("else:" if i else "if True:") if always else f"{'elif' if i else 'if'} {self.condition(row.when)}:"
                )
                self.lines += [
                    f"    {head}",
                    f"        s{n} = {self.expression(row.value)}; x{n} = {self.own_text(row.value)}; w{n} = {i}",
                ]
                closed = closed or always
            if not closed:
                self.lines += ["    else:", f"        s{n} = x{n} = None; w{n} = -1"]
            if name in self.used_files:
                self.lines.append(f"    p{n} = look(s{n})")

    def guards(self) -> None:
        numbers = [self.number[name] for name in self.rules.order]
        self.lines.append(f"    [{', '.join(f's{n}' for n in numbers)}] = values")
        self.lines += [f"    p{self.number[name]} = look(s{self.number[name]})" for name in self.used_files]
        self.lines.append("    fired = []")
        for i, guard in enumerate(self.rules.guards.values()):
            self.lines += [f"    if {self.guard(guard)}:  # {guard.id}", f"        fired.append({i})"]

    def guard(self, guard: Guard) -> str:
        parts = []
        if guard.since:
            parts.append(f"_ge(F.get('engine.version'), {guard.since!r})")
        if guard.until:
            parts.append(f"_lt(F.get('engine.version'), {guard.until!r})")
        return " and ".join([*parts, self.condition(guard.when)])


def generate(rules: Rules, scope: Scope) -> str:
    """The source text of `settings(N, V, T, F, xl, xt, xa, xf, look, choices)` and `guards(…, xs, values)`."""
    code = _Code(rules, scope)
    code.lines.append("def settings(N, V, T, F, xl, xt, xa, xf, look, choices):")
    code.settings()
    numbers = range(len(rules.order))
    for name, letter in (("values", "s"), ("texts", "x"), ("rows", "w")):
        code.lines.append(f"    {name} = [{', '.join(f'{letter}{n}' for n in numbers)}]")
    code.lines.append("    return values, texts, rows")
    code.lines.append("def guards(N, V, T, F, xl, xt, xa, xf, look, choices, xs, values):")
    code.guards()
    code.lines.append("    return fired")
    return "\n".join(code.lines) + "\n"
