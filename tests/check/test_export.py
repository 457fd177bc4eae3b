"""The guards in a second rule engine and in one fast function give the decisions of the resolver on the recorded runs."""

from __future__ import annotations

import random

import pytest

from resolver.analysis import claims
from resolver.analysis.model import Model
from resolver.analysis.replay import make, replay
from resolver.analysis.texts import chooser
from resolver.compile import open_resolver
from resolver.resolve import Resolver
from resolver.views.check_examples import resolve_example
from tools.export_rules.cel import Export
from tools.export_rules.compare import best, measure, recorded
from tools.export_rules.function import build

LIMIT = 10.0
"""Microseconds a decision of all guards, without trace."""


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def test_both_engines_agree_on_recorded_runs(resolver: Resolver) -> None:
    report = measure(resolver, every=9, rounds=3)
    print(report.text())
    assert report.different == []
    assert report.decisions >= 250
    assert report.guards >= 150


def test_the_second_engine_was_asked(resolver: Resolver) -> None:
    cel = pytest.importorskip("cel", reason="the package common-expression-language is not installed")
    export = Export(resolver.rules, resolver.scope)
    assert len(export.guards) == len(resolver.rules.guards)
    resolution, _ = recorded(resolver, 2000)[0]
    said = cel.compile(export.all_guards()).execute(export.values(resolution))
    assert [i for i, holds in enumerate(said) if holds] == resolution.state.fired
    assert cel.compile(export.guards["fa2-beside-pth"]).execute({"v_fa2_fp8kv": "on", "v_pth_fa": "on"}) is True
    assert cel.compile(export.guards["fa2-beside-pth"]).execute({"v_fa2_fp8kv": "on", "v_pth_fa": "off"}) is False


def test_the_fast_function_agrees_on_random_requests(resolver: Resolver) -> None:
    """Far from the recorded runs: on a request for each guard that makes it fire, and on random ones."""
    model = Model.of(resolver)
    chance = random.Random(2)
    calls = []
    real = resolver._guards
    resolver._guards = lambda *arguments: calls.append(arguments) or real(*arguments)
    try:
        for name in resolver.rules.guards:
            if not any(replay(model, part, claims.fires(name), "fires") for part in model.guard_parts(name)):
                # a guard over arithmetic that no try hit: its own example makes it fire
                assert any(model.rests_on(part) for part in model.guard_parts(name))
                resolve_example(resolver, resolver.rules.guards[name].fires[0])
        for _ in range(200):
            some = chance.sample(range(len(model.domains)), 12)
            cells = {n: chance.randrange(len(model.domains[n].cells)) for n in some}
            make(model, cells, chooser(chance)).resolve(resolver)
    finally:
        resolver._guards = real
    decide = build(resolver.rules, resolver.scope)
    fired = set()
    for arguments in calls:
        assert decide(*arguments) == real(*arguments)
        fired |= set(real(*arguments))
    assert fired == set(range(len(resolver.rules.guards)))


def test_the_fast_function_is_fast(resolver: Resolver) -> None:
    """Processor time, the best of some rounds: other work on the machine is mostly not counted."""
    calls = [arguments for _, arguments in recorded(resolver, 9)]
    decide = build(resolver.rules, resolver.scope, calls[::5])
    taken = best(decide, calls, 15)
    print(f"{taken:.1f} us a decision of {len(resolver.rules.guards)} guards")
    assert taken <= LIMIT * 1.5, "half as much again is allowed for a busy machine"
