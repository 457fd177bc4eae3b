"""Put the settings in an order in which each stands after what it reads; find names that nothing defines, and cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resolver import conditions, expressions
from resolver.conditions import Condition
from resolver.diagnostics import Position, nearest
from resolver.load.collect import Collector
from resolver.model import Guard, Knob, Setting
from resolver.names import Scope, row_names
from resolver.yaml12 import Document


def check_name(scope: Scope, name: str, position: Position, collect: Collector) -> None:
    """Keeps an error when nothing is called `name`."""
    if scope.meaning(name) is None:
        near = nearest(name, scope.all_names())
        collect.fail(
            "name",
            f"nothing is called {name!r}",
            position,
            f"did you mean {near!r}?" if near else "see `launch.py knobs` and rules/facts.yaml for what there is",
        )


def check_condition(
    scope: Scope, condition: Condition, position: Position, documents: Mapping[str, Document], collect: Collector
) -> None:
    """Every name of the condition, and states asked only of knobs."""
    document = documents.get(position.file)

    def place(leaf: conditions.Leaf, key: bool) -> Position:
        return document.position(leaf.path, key=key) if document and leaf.path else position

    for leaf in conditions.leaves(condition):
        check_name(scope, leaf.name, place(leaf, True), collect)
        if leaf.op == "state" and leaf.name not in scope.knobs and scope.meaning(leaf.name):
            collect.fail(
                "condition",
                f"{leaf.name} is not a knob, so it is never {leaf.operand}",
                place(leaf, True),
                "ask `unknown`, or `not: {...: unknown}`",
            )
        if isinstance(leaf.operand, conditions.Ref):
            check_name(scope, leaf.operand.name, place(leaf, False), collect)
        if leaf.op == "is":
            _check_values(scope, leaf, place(leaf, False), collect)


def _check_values(scope: Scope, leaf: conditions.Leaf, position: Position, collect: Collector) -> None:
    """A value that the knob can never have would make the condition silently false."""
    knob = scope.knobs.get(leaf.name) if isinstance(scope.knobs, Mapping) else None
    if not isinstance(knob, Knob):
        return
    known = list(knob.allowed) or (["on", "off"] if knob.type in ("switch", "zero_one") else [])
    for value in leaf.operand:
        if knob.type == "int" and type(value) is not int:
            message = f"{leaf.name} is a whole number, so it is never {value!r}"
            collect.fail("condition", message, position, "write the number without quotes")
        elif known and value not in known:
            near = nearest(str(value), known)
            message = f"{leaf.name} is never {value!r}: its values are {', '.join(known)}"
            collect.fail("condition", message, position, f"did you mean {near!r}?" if near else "write one of them")


def check_names(
    scope: Scope,
    settings: Iterable[Setting],
    guards: Iterable[Guard],
    documents: Mapping[str, Document],
    collect: Collector,
) -> None:
    """Every name in every row and guard."""
    for setting in settings:
        for i, row in enumerate(setting.rows):
            check_condition(scope, row.when, row.position, documents, collect)
            if "extra.shadowed" in row_names(row):
                message = f"{setting.name}: what is shadowed is known once all settings are, so only guards may ask"
                collect.fail("name", message, row.position, "ask `extra.flags`")
            place = _value_place(documents.get(row.position.file), setting.name, i) or row.position
            for name in dict.fromkeys(expressions.names(row.value)):
                check_name(scope, name, place, collect)
    for guard in guards:
        check_condition(scope, guard.when, guard.position, documents, collect)


def _value_place(document: Document | None, setting: str, row: int) -> Position | None:
    """Where the value of a row stands; None for a row that an arm stands for."""
    if document is None or not isinstance(document.data, dict) or setting not in (document.data.get("settings") or {}):
        return None
    return document.position(("settings", setting, "first", row, "value"))


def order_settings(scope: Scope, settings: Mapping[str, Setting], collect: Collector) -> tuple[str, ...]:
    """An order that depends on the names alone, not on files or rows. A cycle is an error that shows its way round."""
    needs = {
        name: sorted({base for row in setting.rows for used in row_names(row) for base in scope.settings_behind(used)})
        for name, setting in settings.items()
    }
    done: dict[str, int] = {}
    out: list[str] = []
    for start in sorted(settings):
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, next_need = stack.pop()
            if next_need == 0:
                if done.get(name):
                    continue
                done[name] = 1
            if next_need < len(needs[name]):
                stack.append((name, next_need + 1))
                need = needs[name][next_need]
                if done.get(need) == 1:
                    way = [n for n, _ in stack]
                    ring = [*way[way.index(need) :], need]
                    collect.fail(
                        "cycle",
                        f"settings that need each other: {' -> '.join(ring)}",
                        settings[need].position,
                        "let one of them read something else",
                    )
                    return tuple(sorted(settings))
                if not done.get(need):
                    stack.append((need, 0))
            else:
                done[name] = 2
                out.append(name)
    return tuple(out)
