"""Keys of configurations that the user types: one that no engine has is refused, and every one that it has is let through."""

from __future__ import annotations

import json

import pytest

from resolver.compile import open_resolver
from resolver.typed_configurations import ANY_JSON, RULE
from tests.cli.conftest import SECRET
from tests.explain.requests import ask

FLAGS = [
    (dest, info["spellings"][0])
    for dest, info in open_resolver().engine("0.31.0").flags.items()
    if info["type"] == ANY_JSON and dest in open_resolver().engine("0.31.0").configs
]


def found(flag: str, value: object, *, dotted: bool = False) -> list[tuple[str, str | None]]:
    words = (f"{flag}.{value}", "1") if dotted else (flag, json.dumps(value))
    return [(d.message, d.fix) for d in ask("mtp-fast", args=words).diagnostics if d.rule == RULE]


def test_there_are_such_flags() -> None:
    assert "speculative_config" in dict(FLAGS)


@pytest.mark.parametrize(("dest", "flag"), FLAGS)
def test_every_key_of_the_engine_is_let_through_and_no_other(dest: str, flag: str) -> None:
    keys = open_resolver().engine("0.31.0").configs[dest]["properties"]
    assert found(flag, dict.fromkeys(keys, 1)) == []
    assert len(found(flag, dict.fromkeys(["nosuch", *keys, "another"], 1))) == 2
    assert len(found(flag, "nosuch", dotted=True)) == 1


def test_a_near_miss_is_named() -> None:
    ((message, fix),) = found("--speculative-config", {"methd": "mtp"})
    assert message == "--speculative-config: vLLM 0.31.0 has no key methd there"
    assert fix == "did you mean method?"


@pytest.mark.parametrize("value", [None, [], 7, "text", {}])
def test_what_has_no_keys_has_no_unknown_ones(value: object) -> None:
    assert found("--speculative-config", value) == []


def test_no_key_of_a_service_is_repeated() -> None:
    assert SECRET not in str(found("--speculative-config", {f"api_key:{SECRET}": 1}))


def test_what_is_open_stays_open() -> None:
    for flag in ("--hf-overrides", "--additional-config"):
        assert found(flag, {"nosuch": 1}) == []
