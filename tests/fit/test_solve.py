"""`fit --solve max_model_len` for every profile on every machine, against trying lengths one after the other."""

from __future__ import annotations

from functools import cache

import pytest

from resolver.compile import open_resolver
from resolver.geometry.pool import numbers
from resolver.geometry.shapes import NoGeometry, Setup
from resolver.machines import load_machine, names
from resolver.request import build
from resolver.resolve import Resolver
from resolver.views.fit import pools, solved, verdict
from resolver.views.fit_setup import Asked, asked
from tests.fit.setups import REPO


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@cache
def longest_by_trying(setup: Setup) -> int:
    """One request of every length there is, from the longest down: pages only change where a block begins, so all of them are tried."""
    block = numbers(setup)["block"]
    top = setup.shape.longest
    assert top
    for blocks in range(-(-top // block), 0, -1):
        last, first = min(top, blocks * block), (blocks - 1) * block + 1
        for length in (last, first) if first < last else (last,):
            sheet = numbers(setup._replace(max_model_len=length))
            if sheet["request_pages"] <= sheet["pool_pages"]:
                return last if length == last else _within(setup, first, last)
    return 0


def _within(setup: Setup, first: int, last: int) -> int:
    """Between the two ends of a block, token by token: only a short request's drafter pages change there."""
    fitting = [n for n in range(first, last + 1) if _holds(setup, n)]
    assert fitting == list(range(first, fitting[-1] + 1))
    return fitting[-1]


def _holds(setup: Setup, length: int) -> bool:
    sheet = numbers(setup._replace(max_model_len=length))
    return sheet["request_pages"] <= sheet["pool_pages"]


def question(resolver: Resolver, profile: str, machine: str) -> Asked | None:
    there = load_machine(resolver.root, machine)
    request = build(resolver.rules, resolver.table, profile=profile)
    try:
        ask = asked(resolver.resolve(request, there, resolver.engine_of(there)))
        numbers(ask.setup)
        return ask
    except NoGeometry:
        return None


@pytest.mark.parametrize("machine", names(REPO))
def test_all_profiles(resolver: Resolver, machine: str) -> None:
    tried = 0
    for profile in resolver.rules.profiles:
        ask = question(resolver, profile, machine)
        if ask is None:
            continue
        found = verdict(ask)
        for end, length in solved(ask, found, "max_model_len").items():
            setup = ask.setup if ask.setup.pool_bytes else ask.setup._replace(pool_bytes=pools(found)[end])
            if setup.shape.longest is None:
                continue
            assert length == longest_by_trying(setup), (profile, end)
            tried += 1
    assert tried >= (0 if machine == "cpu-only" else 16)
