"""An answer is read whole or its fault is named: slow, cut, commented, split, garbled, lying and failing servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from resolver.measure.prompts import user
from resolver.measure.stream import Answer, read
from resolver.serving.client import NoAnswer
from tests.measure.fake_server import FakeServer, Faults, running

SAID = "Zwölf Türme — ☃ snow, and a 🗼 beside the gate. " * 3


def ask(faults: Faults | None = None, limit: int = 400, exact: bool = False, **more: Any) -> Answer:
    with running(FakeServer(faults, reply=lambda messages: SAID, **more)) as server:
        return server.server().chat(user("Hello"), limit, exact)


def test_a_whole_answer() -> None:
    answer = ask()
    assert (answer.problem, answer.text, answer.finish) == ("", SAID, "stop")
    assert answer.tokens == answer.marks[-1][1]
    assert answer.prompt_tokens
    assert answer.cached == 0
    assert answer.sent < answer.first <= answer.last
    counts = [tokens for _, tokens in answer.marks]
    assert counts[0] == 1
    assert counts == sorted(counts)


@pytest.mark.parametrize("split", [1, 7, 40, 47])
def test_comments_and_parts_that_end_anywhere_change_nothing(split: int) -> None:
    answer = ask(Faults(keep_alive=True, split=split))
    assert (answer.problem, answer.text) == ("", SAID)


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        (Faults(drop_after=3), "cut"),
        (Faults(no_end=True), "without [DONE]"),
        (Faults(garbage="<html>"), "no JSON: <html>"),
        (Faults(garbage='{"error": {"message": "the engine is dead"}}'), "brought an error"),
        (Faults(garbage="[1]"), "brought an error"),
        (Faults(garbage="[" * 5000), "no JSON"),
        (Faults(fail_after=0), "status 500"),
        (Faults(lie="zero"), "0 tokens, and text came"),
        (Faults(lie="shrinks"), "went down"),
    ],
)
def test_a_fault_is_named(faults: Faults, says: str) -> None:
    assert says in ask(faults).problem


def test_more_tokens_than_were_asked_for_are_a_lie() -> None:
    assert "at most 60 were asked for" in ask(Faults(lie="more"), 60).problem


def test_an_exact_length_is_held_to() -> None:
    assert ask(limit=20, exact=True).problem == ""
    answer = ask(Faults(lie="more"), 20, True)
    assert "60 tokens" in answer.problem


def test_a_text_that_stops_before_an_exact_length_is_wrong() -> None:
    events = ['{"choices": [{"text": "a"}], "usage": {"completion_tokens": 1}}', "[DONE]"]
    assert "exactly 5" in read(lambda: iter(events), 5, exact=True).problem


def test_a_server_that_stops_answering() -> None:
    def events() -> Any:
        yield '{"choices": [{"text": "a"}]}'
        raise NoAnswer("the answer was cut (TimeoutError)")

    answer = read(events, 5)
    assert answer.problem == "the answer was cut (TimeoutError)"
    assert answer.text == "a"


@pytest.mark.parametrize("usage", ["3", "null", '{"completion_tokens": true}', '{"completion_tokens": -1}', "[]"])
def test_a_usage_that_is_none_is_not_believed(usage: str) -> None:
    events = ['{"choices": [{"text": "a"}], "usage": ' + usage + "}", "[DONE]"]
    assert "does not say how many tokens" in read(lambda: iter(events), 5).problem


def test_a_prompt_that_is_not_counted_is_a_fault() -> None:
    events = ['{"choices": [{"text": "a"}], "usage": {"completion_tokens": 1}}', "[DONE]"]
    assert read(lambda: iter(events), 5).problem == "the server does not say how many tokens the prompt has"


@pytest.mark.parametrize("event", ['{"choices": 3}', '{"choices": [3]}', '{"choices": [{"delta": 1}]}', '{"a": 1}'])
def test_odd_events_are_passed_over(event: str) -> None:
    last = '{"choices": [], "usage": {"completion_tokens": 0, "prompt_tokens": 4}}'
    answer = read(lambda: iter([event, last, "[DONE]"]), 5)
    assert (answer.problem, answer.text, answer.prompt_tokens) == ("", "", 4)


def test_a_tool_call_is_put_together() -> None:
    def part(index: int, **function: str) -> str:
        import json

        return json.dumps({"choices": [{"delta": {"tool_calls": [{"index": index, "function": function}]}}]})

    events: Sequence[str] = [
        part(0, name="f", arguments=""),
        part(1, name="g"),
        part(0, arguments='{"a"'),
        part(0, arguments=": 1}"),
        '{"choices": [], "usage": {"completion_tokens": 4}}',
        "[DONE]",
    ]
    assert read(lambda: iter(events), 5).calls == (("f", '{"a": 1}'), ("g", ""))
