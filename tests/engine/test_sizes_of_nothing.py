"""Sizes of 0 among the engine flags: what the rules refuse, the engine's own configuration refuses, and it takes a 1."""

from __future__ import annotations

import pytest

from resolver import conditions
from resolver.compile import open_resolver
from tests.engine.real_config import Launch, check_many
from tests.engine.real_parser import VARIABLE, available
from tools.engine_data.child.check_configs import TARGET

PINNED = "0.31.0"
GUARDS = ("parallel-size-of-nothing", "size-of-nothing")


def flags() -> list[str]:
    """The destinations that the two guards read."""
    rules = open_resolver().rules
    found = [leaf.name for guard in GUARDS for leaf in conditions.leaves(rules.guards[guard].when)]
    return [name.removeprefix("extra.last.") for name in found]


def test_every_flag_is_one_that_all_engines_have() -> None:
    resolver = open_resolver()
    assert len(flags()) == 10
    for version in ("0.28.0", "0.33.0"):
        assert set(flags()) <= set(resolver.engine(version).flags)


@pytest.mark.slow
@pytest.mark.engine
def test_the_engine_refuses_nothing_and_takes_one() -> None:
    if not available(PINNED):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {PINNED}")
    spelled = [max(open_resolver().engine(PINNED).flags[dest]["spellings"], key=len) for dest in flags()]
    asked = [[f"{flag}={size}"] for flag in spelled for size in (0, 1)]
    start = [TARGET, "--max-model-len", "512"]
    answers = check_many(PINNED, [Launch([*start, *words]) for words in asked])
    wrong = [(words, a.message) for words, a in zip(asked, answers, strict=True) if a.ok != words[0].endswith("=1")]
    assert wrong == []
