"""`launch.py check`: it holds for the product, and it fails where something is wrong."""

from __future__ import annotations

import json

import pytest

from resolver.analysis.finding import KINDS
from resolver.compile import open_resolver
from resolver.resolve import Resolver
from resolver.views.check_examples import run_examples
from resolver.views.matrix import cells
from resolver.views.origins import Origin, is_there, numbers, origins
from tests.cli.conftest import Cli


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def test_it_holds(cli: Cli) -> None:
    ran = cli.run("check", "--origins", "--json")
    data = json.loads(ran.out)
    assert ran.status == 0, [o for o in data["origins"] if not o["ok"]] + data["wrong_examples"]
    assert data["ok"]
    assert {o["number"] for o in data["origins"] if o["dropped"]} == {"R6", "R8", "R46", "R93", "R108", "R122"}
    text = cli.run("check", "--origins").out
    assert "132 numbered rules: 126 implemented, 6 dropped, 0 missing" in text
    assert text.endswith("everything holds\n")


def test_the_numbers() -> None:
    found = numbers()
    assert len(found) == 132
    assert {"R1", "R35b", "R41b", "R41c", "R41d", "R130"} <= set(found)
    assert not {"R96", "R97", "R131"} & set(found)


def test_a_missing_number_is_found(resolver: Resolver) -> None:
    rules = resolver.rules
    guard = next(g for g in rules.guards.values() if g.origins == ("R29",))
    without = rules._replace(guards={**rules.guards, guard.id: guard._replace(origins=("R131",))})
    found, strangers = origins(without)
    assert [o.number for o in found if not o.fine] == ["R29"]
    assert len(strangers) == 1
    assert "R131" in strangers[0]


def test_code_that_is_not_there_is_found() -> None:
    assert is_there("resolver.resolution:Resolution.diagnostics")
    assert not is_there("resolver.resolution:Resolution.nothing")
    assert not is_there("resolver.nothing:x")
    assert not Origin("R1", broken=["resolver.nothing:x"], places=["somewhere"]).fine
    assert not Origin("R1", places=["somewhere"], dropped="no").fine


def test_a_wrong_example_is_found(resolver: Resolver) -> None:
    """Claims turned round fail, every one."""
    guards = {g.id: g._replace(fires=g.silent, silent=g.fires) for g in resolver.rules.guards.values()}
    arms = {a.name: a._replace(taken=a.passed_over, passed_over=a.taken) for a in resolver.rules.arms.values()}
    before = resolver.rules
    resolver.rules = before._replace(guards=guards, arms=arms)
    try:
        outcomes = list(run_examples(resolver))
    finally:
        resolver.rules = before
    assert len(outcomes) > 200
    assert [o for o in outcomes if o.holds] == []


def test_every_example_holds(resolver: Resolver) -> None:
    assert [o for o in run_examples(resolver) if not o.holds] == []


def test_every_guard_and_arm_has_examples(resolver: Resolver) -> None:
    assert [g.id for g in resolver.rules.guards.values() if not g.arm and not (g.fires and g.silent)] == []
    assert [a.name for a in resolver.rules.arms.values() if not (a.taken and a.passed_over)] == []


def test_no_cell_has_two_arms(resolver: Resolver) -> None:
    found = cells(resolver.rules)
    assert [c for c in found if len(c.arms) > 1] == []
    assert {c.capability for c in found} == {"8.0", "8.6", "8.9", "9.0", "12.0", "none"}


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        ("0.28.0", 1, "breaks: flag --tool-strict-level: vLLM 0.28.0 has no such flag"),
        ("0.31.0", 0, "from vLLM 0.31.0 to 0.31.0: 0 break"),
        ("0.33.0", 1, "changes: flag --tool-strict-level: its default moves from 'auto' to None"),
    ],
)
def test_what_another_engine_breaks(cli: Cli, version: str, status: int, said: str) -> None:
    ran = cli.run("check", "--engine", version)
    assert ran.status == status, ran.err
    assert said in ran.out


def test_another_engine_as_data(cli: Cli) -> None:
    ran = cli.run("check", "--engine", "0.30.0", "--json")
    found = json.loads(ran.out)
    assert (found["from"], found["to"]) == ("0.31.0", "0.30.0")
    assert {c["what"] for c in found["changes"] if c["breaks"]} >= {"flag --tool-strict-level"}


def test_an_engine_that_nobody_knows(cli: Cli) -> None:
    ran = cli.run("check", "--engine", "0.99.0")
    assert ran.status == 2
    assert "engine '0.99.0' is not known" in ran.err


def test_sarif_is_one_document(cli: Cli) -> None:
    ran = cli.run("check", "--sarif")
    data = json.loads(ran.out)
    assert data["version"] == "2.1.0"
    assert ran.status == 0
    assert all(r["ruleId"] in KINDS for r in data["runs"][0]["results"])
