"""Made-up rule bases: load, resolve and check agree with a reading of the language that shares no code with them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from resolver.analysis import findings
from resolver.analysis.questions import Answer, ask
from resolver.resolve import Resolver
from tests.check import base as small
from tests.matrix import rule_bases, tiny
from tests.matrix.rule_bases import Base

FEW = max(10, settings.default.max_examples // 10)
"""Each example loads a set of rules, which takes a hundred times as long as a resolution."""
FEWER = max(5, FEW // 3)
"""Each example also tries thousands of requests."""


def loaded(base: Base, folder: str) -> Resolver:
    small.write(Path(folder), base.data)
    return small.load(Path(folder))


@settings(max_examples=FEW)
@given(rule_bases.bases(), st.data())
def test_resolving_does_what_the_language_says(base: Base, data: st.DataObject) -> None:
    """Every row and guard, on requests made up for them."""
    with tempfile.TemporaryDirectory() as folder:
        resolver = loaded(base, folder)
        for _ in range(15):
            request = {
                name: data.draw(st.sampled_from(values), label=name) for name, values in rule_bases.VALUES.items()
            }
            seen = small.replay(resolver, rule_bases.as_request(request))
            world = rule_bases.world(base, request)
            tiny.run(base.data["settings"], base.settings, world)
            for name in base.settings:
                row = seen.state.rows[resolver.number[name]]
                assert (row, seen.setting(name)) == (world.rows[name], world.values[name]), (name, request)
            fired = {guard.id for guard in seen.fired} & set(base.guards)
            mine = {name: base.data["guards"][name] for name in base.guards}
            assert fired == tiny.fired(mine, world, request["engine.version"]), request


def brute_force(base: Base) -> tuple[set[tuple[str, int]], set[tuple[str, int]], set[str]]:
    """Over every request: the rows that ever hold, the rows that ever win, the guards that ever fire."""
    hold, win, fire = set(), set(), set()
    mine = {name: base.data["guards"][name] for name in base.guards}
    for request, world in rule_bases.worlds(base):
        for name in base.settings:
            tiny.run(base.data["settings"], [name], world)
            rows = base.data["settings"][name]["first"]
            left = [i for i in range(len(rows)) if (name, i) not in hold]
            hold |= {(name, i) for i in left if tiny.holds(rows[i].get("when", {}), world)}
            win.add((name, world.rows[name]))
        if fire != set(mine):
            fire |= tiny.fired({n: g for n, g in mine.items() if n not in fire}, world, request["engine.version"])
    return hold, win, fire


def compare_with_check(base: Base) -> int:
    """How many rows and guards `check` calls dead or shadowed; fails where brute force knows better."""
    with tempfile.TemporaryDirectory() as folder:
        found = findings(loaded(base, folder))
    hold, win, fire = brute_force(base)
    kinds = {"dead": "dead", "shadowed": "shadowed", "unreachable-default": "shadowed"}
    said = {(kinds[f.kind], f.rule) for f in found if f.kind in kinds}
    for name in base.settings:
        for i in range(len(base.data["settings"][name]["first"])):
            rule = f"{name}[{i + 1}]"
            if ("dead", rule) in said:
                assert (name, i) not in hold, f"{rule} is called dead, and holds"
            elif ("shadowed", rule) in said:
                assert (name, i) not in win, f"{rule} is called shadowed, and is taken"
                assert (name, i) in hold or base.arithmetic, f"{rule} never holds, which is dead"
            else:
                assert (name, i) in win or base.arithmetic, f"{rule} is never taken, and check is silent"
    for name in base.guards:
        assert (("dead", name) in said) <= (name not in fire), f"{name} is called dead, and fires"
        assert base.arithmetic or (name in fire) or ("dead", name) in said, f"{name} never fires, and check is silent"
    return len(said)


@settings(max_examples=FEWER)
@given(rule_bases.bases(arithmetic=False))
def test_check_is_exact_without_arithmetic(base: Base) -> None:
    """What is called dead or shadowed is, by brute force over every request, and everything else is not."""
    compare_with_check(base)


@settings(max_examples=FEWER)
@given(rule_bases.bases())
def test_check_never_accuses_wrongly(base: Base) -> None:
    compare_with_check(base)


def test_the_comparison_can_fail() -> None:
    """A row that is really shadowed is found by both, and a base whose check is blind to it is noticed."""
    row: dict[str, Any] = {"when": {"flip": "on"}, "value": 1}
    data = small.clean()
    data["knobs"] |= {"flip": {"help": "f", "type": "switch", "default": "0"}}
    data["settings"]["x0"] = {"first": [row, {**row, "value": 2}]}
    data["argv"].insert(1, {"flag": "--num-drafts", "value": "x0"})
    data["knobs"]["pick"] = {"help": "p", "type": "choice", "allowed": rule_bases.WORDS}
    data["knobs"]["count"] = {"help": "c", "type": "int", "minimum": 1, "maximum": rule_bases.HIGH}
    base = Base(data, ["x0"], [], False)
    assert compare_with_check(base) == 1
    hold, win, _ = brute_force(base)
    assert ("x0", 1) in hold
    assert ("x0", 1) not in win


@settings(max_examples=FEWER)
@given(rule_bases.bases(arithmetic=False), st.data())
def test_questions_are_answered_as_brute_force_does(base: Base, data: st.DataObject) -> None:
    """`--never` and `--implies` of made-up conditions, for all requests."""
    one, other = (data.draw(rule_bases.conditions(base.settings), label="condition") for _ in range(2))
    base.data["guards"]["asked"] = small.guard("said", {"all": [one, other]}, [], [])
    reading = Base(base.data, base.settings, [*base.guards, "asked"], False)
    truths = set()
    for _, world in rule_bases.worlds(reading):
        tiny.run(base.data["settings"], base.settings, world)
        truths.add((tiny.holds(one, world), tiny.holds(other, world)))
    del base.data["guards"]["asked"]
    with tempfile.TemporaryDirectory() as folder:
        resolver = loaded(base, folder)
        never = _first(ask(resolver, "never", [_text(one)]))
        implies = _first(ask(resolver, "implies", [_text(one), _text(other)]))
    assert never.holds is not any(first for first, _ in truths)
    assert implies.holds is ((True, False) not in truths)


def _text(condition: dict[str, Any]) -> str:
    import json

    return json.dumps(condition)


def _first(answers: list[Answer]) -> Answer:
    """The answer for all requests; the other one is for those that no other rule refuses."""
    return answers[0]
