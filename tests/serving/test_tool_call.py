"""One judge of the tool call that servers are asked for: by readiness, acceptance and measuring."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.serving import tool_call
from tests.serving.fake_server import tool

CALLS = [
    ("get_time", '{"city": "Rome"}', ""),
    ("", None, "no tool was called"),
    ("other", "{}", "the tool 'other' was called"),
    ("get_time", "{", "no JSON"),
    ("get_time", None, "no JSON"),
    ("get_time", {"city": "Rome"}, "no JSON"),
    ("get_time", "[" * 100_000, "no JSON"),
    ("get_time", '{"city": "Oslo"}', "do not fit"),
    ("get_time", '{"city": ["Rome"]}', "do not fit"),
    ("get_time", '{"city": "Rome", "x": 1}', "do not fit"),
    ("get_time", "[]", "do not fit"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), CALLS)
def test_what_is_wrong_with_a_call(name: str, arguments: Any, says: str) -> None:
    found = tool_call.wrong(name, arguments)
    assert says in found
    assert bool(found) == bool(says)
    assert len(found) < 200
    assert bool(tool_call.said(name, arguments)) == bool(name)


def test_more_than_the_schema_has_is_wrong_only_where_it_is_asked_exactly() -> None:
    assert tool_call.wrong("get_time", '{"city": "Rome", "x": 1}', exact=False) == ""
    assert tool_call.wrong("get_time", '{"x": 1}', exact=False)


def test_the_call_in_short() -> None:
    assert tool_call.said("get_time", '{"city": "Rome"}') == "get_time(Rome)"
    assert tool_call.said("get_time", '{"city": "Oslo"}') == 'get_time({"city": "Oslo"})'


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        (tool('{"city": "Rome"}'), ("get_time", '{"city": "Rome"}')),
        ({}, ("", None)),
        ({"choices": "none"}, ("", None)),
        ({"choices": [{"message": {"tool_calls": ["x"]}}]}, ("", None)),
        ({"choices": [{"message": {"tool_calls": [{"function": ["name"]}]}}]}, ("", None)),
        ({"choices": [{"message": {"tool_calls": [{"function": {"name": "get_time"}}]}}]}, ("get_time", None)),
    ],
)
def test_the_call_of_an_answer(answer: dict[str, Any], call: tuple[str, Any]) -> None:
    assert tool_call.call_of(answer) == call


def test_the_question_can_only_be_answered_by_a_call_and_has_a_limit() -> None:
    asked = tool_call.question("m")
    assert asked["tool_choice"]["function"]["name"] == asked["tools"][0]["function"]["name"] == tool_call.NAME
    assert asked["max_tokens"] == tool_call.LIMIT
