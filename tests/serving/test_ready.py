"""Ready means ready: what a server must do before it is called so."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from resolver.serving.client import Client
from resolver.serving.ready import Report, Target, examine, wait_until_ready
from resolver.serving.secrets import Secret
from tests.serving.fake_server import KEY, MODEL, ROOT, Fake, Handler, running, tool


def target(
    server: Fake, wait: float = 5.0, host: str = "127.0.0.1", tools: bool = True, key: str | None = None
) -> Target:
    key = key or server.key
    return Target(Client(host, server.port, Secret(key) if key else None, wait), MODEL, ROOT, tools)


def failing(report: Report) -> tuple[str, str]:
    assert not report.ready
    last = report.results[-1]
    assert not last.passed
    return last.name, last.detail


def test_a_good_server_is_ready() -> None:
    with running(Fake()) as server:
        report = examine(target(server))
    assert report.ready
    assert [(result.name, result.detail) for result in report.results] == [
        ("identity", "qwen3.8-27b, 2048 tokens"),
        ("completion", "3 tokens"),
        ("streamed completion", "2 parts"),
        ("tool call", "get_time(Rome)"),
    ]


def test_with_a_key_it_must_refuse_without_it() -> None:
    with running(Fake(KEY)) as server:
        report = examine(target(server))
    assert report.ready
    assert report.results[-1].name == "key required"
    assert {key for _, key, _ in server.asked} == {f"Bearer {KEY}", None, "Bearer a-key-that-nobody-has"}
    assert KEY not in repr(report)


def test_without_tools_none_is_called() -> None:
    with running(Fake()) as server:
        report = examine(target(server, tools=False))
    assert report.ready
    assert "/v1/chat/completions" not in [path for path, _, _ in server.asked]


def test_healthy_and_dead_is_not_ready() -> None:
    """What vLLM does with `--mamba-cache-mode align` on a model without such layers: health is fine, completions fail."""
    answer = (500, {"error": {"message": "EngineCore encountered an issue."}})
    with running(Fake(v1__completions=answer)) as server:
        report = wait_until_ready(target(server), lambda: True, 5)
    name, detail = failing(report)
    assert name == "completion"
    assert "status 500" in detail
    assert "EngineCore encountered an issue" in detail
    assert [result.name for result in report.results] == ["identity", "completion"]


NOT_MODELS = [
    ((200, {"data": [{"id": "other", "root": ROOT}]}), "another server is there: it serves other"),
    ((200, {"data": [{"id": MODEL, "root": "/models/else"}]}), "its qwen3.8-27b is /models/else"),
    ((200, {"data": []}), "it serves nothing"),
    ((200, {"data": None}), "no list 'data'"),
    ((200, {"data": ["x"]}), "serves nothing"),
    ((200, b"<html>Welcome to nginx</html>"), "no JSON: <html>Welcome to nginx"),
    ((404, b""), "status 404: an empty answer"),
    ((200, b"[1]"), "no JSON object"),
    ((200, b"\xff"), "no JSON"),
    ((302, b""), "status 302"),
]


@pytest.mark.parametrize(("answer", "said"), NOT_MODELS)
def test_another_server(answer: Any, said: str) -> None:
    with running(Fake(v1__models=answer)) as server:
        name, detail = failing(examine(target(server)))
    assert name == "identity"
    assert said in detail


@pytest.mark.parametrize(
    "content",
    [
        {"choices": [{"text": "a"}]},
        {"choices": [{"text": "a"}], "usage": {"completion_tokens": 0}},
        {"choices": []},
        {"choices": [{"text": None}], "usage": {"completion_tokens": 3}},
        {},
        {"choices": "x"},
    ],
)
def test_a_completion_without_text(content: dict[str, Any]) -> None:
    with running(Fake(v1__completions=(200, content))) as server:
        assert failing(examine(target(server)))[0] == "completion"


TEXT = json.dumps({"choices": [{"text": "a"}]})


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([TEXT], "without [DONE]"),
        (["[DONE]"], "no text"),
        ([TEXT, "{broken", "[DONE]"], "no JSON"),
        ([TEXT, json.dumps({"error": "engine died"}), "[DONE]"], "engine died"),
        ([], "without [DONE]"),
        ([json.dumps({"choices": [{"text": ""}]}), "[DONE]"], "no text"),
        (["[]", "[DONE]"], "error"),
        ([json.dumps({"choices": None}), "[DONE]"], "no list 'choices'"),
    ],
)
def test_a_bad_stream(events: list[str], said: str) -> None:
    with running(Fake(stream=lambda handler, body: handler.events(events))) as server:
        name, detail = failing(examine(target(server)))
    assert name == "streamed completion"
    assert said in detail


def test_a_stream_that_is_none() -> None:
    with running(Fake(stream=(200, {"choices": [{"text": "a"}]}))) as server:
        assert "application/json" in failing(examine(target(server)))[1]


def test_a_stream_in_small_pieces_is_read_as_one() -> None:
    def dribble(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for letter in f": hello\n\ndata: {TEXT}\n\ndata:[DONE]\n\n":
            handler.wfile.write(letter.encode())
            handler.wfile.flush()
            time.sleep(0.002)

    with running(Fake(stream=dribble)) as server:
        assert examine(target(server)).ready


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (tool('{"city": "Oslo"}'), "do not fit"),
        (tool("{}"), "do not fit"),
        (tool('{"city": '), "no JSON"),
        (tool(None), "no JSON"),
        (tool({"city": "Rome"}), "no JSON"),
        (tool("[]"), "do not fit"),
        (tool('{"city": "Rome"}', "other"), "the tool 'other' was called"),
        ({"choices": [{"message": {"content": "It is noon.", "tool_calls": []}}]}, "no tool"),
        ({"choices": [{"message": None}]}, "no tool"),
        ({"choices": [{"message": {"tool_calls": ["x"]}}]}, "no tool"),
        ({"choices": [{"message": {"tool_calls": [{}]}}]}, "no tool"),
    ],
)
def test_a_bad_tool_call(content: dict[str, Any], said: str) -> None:
    with running(Fake(v1__chat__completions=(200, content))) as server:
        name, detail = failing(examine(target(server)))
    assert name == "tool call"
    assert said in detail


def test_a_server_that_lets_everybody_in() -> None:
    with running(Fake()) as server:
        name, detail = failing(examine(target(server, key=KEY)))
    assert name == "key required"
    assert "without a key" in detail
    assert "status 200" in detail


def test_a_server_that_takes_any_key() -> None:
    def any_key(handler: Handler, body: dict[str, Any]) -> None:
        if handler.headers["Authorization"]:
            handler.send(200, {"data": [{"id": MODEL, "root": ROOT}]})
        else:
            handler.send(401, {})

    with running(Fake(KEY, v1__models=any_key)) as server:
        name, detail = failing(examine(target(server)))
    assert name == "key required"
    assert "with a wrong key" in detail


@pytest.mark.parametrize("key", ["sk-line\nbreak", "sk-☃", "sk-do-not-show-me"])
def test_the_key_is_in_no_report(key: str) -> None:
    with running(Fake("another")) as server:
        report = examine(target(server, key=key))
    assert not report.ready
    assert "sk-" not in repr(report)


def test_a_hanging_answer_costs_its_wait() -> None:
    with running(Fake(v1__completions=lambda handler, body: time.sleep(1.5))) as server:
        began = time.monotonic()
        name, detail = failing(examine(target(server, wait=0.3)))
        assert time.monotonic() - began < 1.2
    assert (name, detail) == ("completion", "no answer within 0.3 s")


def test_a_stream_that_stops_costs_its_wait() -> None:
    with running(Fake(stream=lambda handler, body: handler.events([TEXT], 1.5))) as server:
        assert "not whole within 0.3 s" in failing(examine(target(server, wait=0.3)))[1]


def test_a_stream_that_does_not_end() -> None:
    with running(Fake(stream=lambda handler, body: handler.events([TEXT] * 100, 0.02))) as server:
        assert "does not end" in failing(examine(target(server, wait=0.3)))[1]


def test_a_flood_is_cut() -> None:
    with running(Fake(v1__models=(200, b"x" * (9 << 20)))) as server:
        assert "does not end" in failing(examine(target(server)))[1]


def test_no_http() -> None:
    def noise(handler: Handler, body: dict[str, Any]) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")

    with running(Fake(v1__models=noise)) as server:
        assert "no HTTP answer" in failing(examine(target(server)))[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "localhost"])
def test_a_server_on_every_address_is_asked_here(host: str) -> None:
    with running(Fake()) as server:
        assert examine(target(server, host=host)).ready


def test_proxies_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with running(Fake()) as server:
        assert examine(target(server)).ready


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def waiting(alive: Callable[[], bool], seconds: float) -> Report:
    return wait_until_ready(Target(Client("127.0.0.1", free_port(), wait=1), MODEL), alive, seconds)


def test_an_engine_that_ends_is_not_waited_for() -> None:
    began = time.monotonic()
    report = waiting(lambda: False, 60)
    assert time.monotonic() - began < 5
    assert not report.ready
    assert "before it was up" in report.problem


def test_an_engine_that_never_comes_up() -> None:
    report = waiting(lambda: True, 1)
    assert not report.ready
    assert report.problem == "not up after 1 s: Connection refused"


def test_a_slow_start_is_waited_for_and_shown() -> None:
    looks: list[float] = []

    def soon(handler: Handler, body: dict[str, Any]) -> None:
        handler.send(200 if len(looks) > 2 else 503, b"")

    with running(Fake(health=soon)) as server:
        assert wait_until_ready(target(server), lambda: True, 20, looks.append).ready
    assert len(looks) == 3
    assert looks == sorted(looks)


def test_an_engine_that_ends_while_it_is_asked_is_not_ready() -> None:
    with running(Fake()) as server:
        report = wait_until_ready(target(server), lambda: False, 5)
    assert not report.ready
    assert all(result.passed for result in report.results)
    assert "ended while" in report.problem


def test_nothing_checked_is_not_ready() -> None:
    assert not Report().ready
