"""Names of parsers that the engine's command line does not check: taken from the engine's own tables."""

from __future__ import annotations

import pytest

from resolver.compile import open_resolver
from resolver.engine import versions
from tests.explain.requests import ask


def said(*words: str, args: tuple[str, ...] = ()) -> list[tuple[str, str | None]]:
    found = ask("mtp-fast", *words, args=args).diagnostics
    return [(d.message, d.fix) for d in found if d.rule.startswith("unknown-")]


@pytest.mark.parametrize(
    ("words", "args", "message", "fix"),
    [
        (("TOOL_PARSER=qwen3coder",), (), "TOOL_PARSER=qwen3coder", "did you mean qwen3_coder?"),
        ((), ("--tool-call-parser", "hermess"), "--tool-call-parser hermess", "did you mean hermes?"),
        ((), ("--reasoning-parser=qwen",), "--reasoning-parser qwen", "did you mean qwen3?"),
        (("TOOLS=0",), ("--enable-auto-tool-choice", "--tool-call-parser", "hermess"), "--tool-call-parser hermess", "did you mean hermes?"),
    ],
)  # fmt: skip
def test_a_name_that_the_engine_does_not_have(
    words: tuple[str, ...], args: tuple[str, ...], message: str, fix: str
) -> None:
    assert said(*words, args=args) == [(f"{message}: vLLM 0.31.0 has no parser of this name", fix)]


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ((), ()),
        (("TOOL_PARSER=hermes",), ()),
        (("TOOL_PARSER=nosuch", "TOOLS=0"), ()),
        (("TOOL_PARSER=mine",), ("--tool-parser-plugin", "/x/mine.py")),
        ((), ("--reasoning-parser", "mine", "--reasoning-parser-plugin", "/x/mine.py")),
    ],
)
def test_a_name_that_it_has_or_that_a_plugin_may_bring(words: tuple[str, ...], args: tuple[str, ...]) -> None:
    assert said(*words, args=args) == []


def test_every_version_has_the_parsers_of_the_default_launch() -> None:
    resolver = open_resolver()
    for version in versions(resolver.root):
        parsers = resolver.engine(version).parsers
        assert "qwen3_coder" in parsers["tool_call_parser"]
        assert "qwen3" in parsers["reasoning_parser"]
