"""Each check of the battery, against a server that is as it should be and against ones that are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from resolver.measure.server import Server
from resolver.serving.accept import (
    batch,
    battery,
    boot_log,
    free_memory,
    key,
    known_answers,
    long_prompt,
    models,
    prefix_hit,
    tool_call,
)
from resolver.serving.accept.basis import Subject
from resolver.serving.accept.result import Result
from resolver.serving.client import Client
from resolver.serving.ready import Target
from resolver.serving.secrets import Secret
from tests.serving.fake_server import KEY, MODEL, ROOT, Fake, Handler, running, tool

Ask = Callable[..., Result]


def subject_of(server: Fake, secret: str | None = None, **more: Any) -> Subject:
    client = Client("127.0.0.1", server.port, Secret(secret) if secret else None, 10.0)
    given = {"max_model_len": 2048, "max_num_seqs": 4, "caches_prefixes": True, **more}
    return Subject(Target(client, MODEL, ROOT), Server(client, MODEL), **given)


def ask(check: battery.Check, server: Fake, **more: Any) -> Result:
    with running(server):
        return battery.one(check, subject_of(server, server.key, **more))


def says(content: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}}]}


def test_all_of_a_good_server() -> None:
    server = Fake(KEY)
    server.pause = 0.2
    with running(server):
        results = list(battery.run(subject_of(server, KEY, captured=32, query_tokens=8, model_bytes=300_000)))
    found = {result.name: result for result in results}
    assert [result.name for result in results] == [check.NAME for check in battery.CHECKS]
    assert {name for name, result in found.items() if result.passed is None} == {
        "known answers",
        "free memory",
        "engine's own log",
    }
    assert not [result for result in results if result.passed is False]
    assert (
        found["full batch"].detail
        == "4 at once, up to 4 seen in the engine together, 32 query tokens a step of 32 captured"
    )
    assert found["prefix hit"].detail == "384 of 512 tokens from the cache, the same answer"
    assert found["long prompt"].detail.startswith("2,024 of 2,048 tokens, and 8 more")
    assert found["key required"].detail == "401 without it; nothing open to everybody"


@pytest.mark.parametrize(
    ("wrong", "more", "said"),
    [
        ({}, {"max_model_len": 4096}, "the launch has 4096 tokens, and the server says 2048"),
        ({"v1__completions": (200, {})}, {}, "the server answers for a model that it does not have"),
        (
            {"v1__completions": (500, {"error": "no"})},
            {},
            "asked for a model that it does not have, the server answers status 500",
        ),
        ({"v1__models": (200, {"data": [{"id": "other"}]})}, {}, "another server is there: it serves other"),
        ({"v1__models": (200, b"<html>")}, {}, "no JSON"),
    ],
)
def test_models(wrong: dict[str, Any], more: dict[str, Any], said: str) -> None:
    result = ask(models, Fake(**wrong), **more)
    assert result.passed is False
    assert said in result.detail
    assert result.fix


@pytest.mark.parametrize("path", ["v1__models", "v1__completions", "v1__chat__completions"])
def test_a_way_in_without_the_key(path: str) -> None:
    result = ask(key, Fake(KEY, **{path: (200, {"data": []})}))
    assert result.passed is False
    assert f"/{path.replace('__', '/')} asked without a key is answered with status 200, not 401" in result.detail


def test_a_wrong_key_that_is_let_in() -> None:
    def wrong(handler: Handler, body: dict[str, Any]) -> None:
        handler.send(401 if handler.headers["Authorization"] is None else 200, {"data": []})

    result = ask(key, Fake(KEY, v1__models=wrong))
    assert result.passed is False
    assert "asked with a wrong key" in result.detail


def test_without_a_key_nothing_is_asked() -> None:
    assert ask(key, Fake()).passed is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (tool('{"city": "Oslo"}'), "the tool's arguments do not fit"),
        (
            {"choices": [{**tool('{"city": "Rome"}  ')["choices"][0], "finish_reason": "length"}]},
            "goes on until its limit",
        ),
        (says("It is four o'clock."), "no tool was called"),
        ({"choices": "none"}, "no tool was called"),
        (tool('{"city": "Rome", "country": "Italy"}'), "do not fit"),
    ],
)
def test_a_tool_call_that_is_none(answer: dict[str, Any], said: str) -> None:
    result = ask(tool_call, Fake(v1__chat__completions=(200, answer)))
    assert result.passed is False
    assert said in result.detail


def test_a_launch_without_tools_is_not_asked_for_one() -> None:
    server = Fake()
    with running(server):
        subject = subject_of(server)
        assert battery.one(tool_call, replace(subject, target=replace(subject.target, tools=False))).passed is None


def test_a_cache_that_never_hits() -> None:
    server = Fake()
    server.block = 1 << 20
    result = ask(prefix_hit, server)
    assert result.passed is False
    assert result.detail == "prompts of 2,023 tokens were sent twice, and nothing came from the cache"
    assert "PREFIX_CACHE=0" in result.fix


def test_long_blocks_need_long_prompts() -> None:
    server = Fake()
    server.block = 700

    def silent(handler: Handler, body: dict[str, Any]) -> None:
        handler.send(200, b"", "text/plain")

    server.wrong["/metrics"] = silent  # nobody says how long a block is, and nobody counts hits
    assert ask(prefix_hit, server).detail == "700 of 2,023 tokens from the cache, the same answer"


def test_a_prompt_that_was_known_before_proves_nothing() -> None:
    def known(handler: Handler, body: dict[str, Any]) -> None:
        answer = handler.completion(body["prompt"], body["max_tokens"])
        answer["usage"]["prompt_tokens_details"]["cached_tokens"] = len(body["prompt"]) - 1
        handler.send(200, answer)

    result = ask(prefix_hit, Fake(v1__completions=known))
    assert result.passed is False
    assert "511 of 512 tokens were cached before they were ever sent" in result.detail


def test_no_cache_no_question() -> None:
    assert ask(prefix_hit, Fake(), caches_prefixes=False).passed is None


def test_a_batch_that_kills_it() -> None:
    server = Fake()
    server.pause = 0.1

    def dies(handler: Handler, body: dict[str, Any]) -> None:
        answer = handler.completion(body["prompt"], body["max_tokens"])
        if server.finished > 2:
            handler.send(500, {"error": "EngineCore encountered an issue"})
        else:
            handler.send(200, answer)

    server.wrong["/v1/completions"] = dies
    result = ask(batch, server, max_num_seqs=3)
    assert result.passed is False
    assert "3 requests at once are not all answered: status 500" in result.detail
    assert "lower MAX_SEQS" in result.fix


def test_a_server_that_is_dead_after_the_batch() -> None:
    server = Fake()

    def dies(handler: Handler, body: dict[str, Any]) -> None:
        answer = handler.completion(body["prompt"], body["max_tokens"])
        handler.send(*((500, {}) if server.finished > 2 else (200, answer)))

    server.wrong["/v1/completions"] = dies
    result = ask(batch, server, max_num_seqs=2)
    assert result.passed is False
    assert "after 2 requests at once it answers no more" in result.detail


def test_a_usage_that_lies() -> None:
    def lies(handler: Handler, body: dict[str, Any]) -> None:
        answer = handler.completion(body["prompt"], body["max_tokens"])
        answer["usage"]["completion_tokens"] = 3
        handler.send(200, answer)

    for check in (batch, long_prompt, prefix_hit):
        result = ask(check, Fake(v1__completions=lies))
        assert result.passed is False
        assert "the server counts" in result.detail


def test_a_long_prompt_that_is_refused() -> None:
    def refuses(handler: Handler, body: dict[str, Any]) -> None:
        if len(body["prompt"]) > 1000:
            handler.send(400, {"error": "maximum context length is 1000 tokens"})
        else:
            handler.send(200, handler.completion(body["prompt"], body["max_tokens"]))

    result = ask(long_prompt, Fake(v1__completions=refuses))
    assert result.passed is False
    assert "status 400" in result.detail


def test_known_answers() -> None:
    right = {"capital": "Paris.", "17": "42", "Repeat": "Lighthouse"}

    def answers(handler: Handler, body: dict[str, Any]) -> None:
        asked = body["messages"][0]["content"]
        handler.send(200, says(next(text for word, text in right.items() if word in asked)))

    big = 16 << 30
    assert ask(known_answers, Fake(v1__chat__completions=answers), model_bytes=big).passed is True
    right["17"] = "the the the the"
    result = ask(known_answers, Fake(v1__chat__completions=answers), model_bytes=big)
    assert result.passed is False
    assert "it says 'the the the the'" in result.detail
    assert ask(known_answers, Fake(v1__chat__completions=answers), model_bytes=300_000).passed is None


@pytest.mark.parametrize(
    ("free", "floor", "wsl", "passed"),
    [
        (None, None, False, None),
        (300, None, False, True),
        (396, 396, False, False),
        (436, 396, False, True),
        (10, 396, True, True),
    ],
)
def test_free_memory(free: int | None, floor: int | None, wsl: bool, passed: bool | None) -> None:
    result = ask(free_memory, Fake(), free_mib=lambda: free, floor_mib=floor, wsl=wsl)
    assert result.passed is passed


def test_what_the_log_says() -> None:
    lines = [
        "INFO 12-01 10:00:00 [core.py:1] Initializing a V1 LLM engine (v0.31.0) with config: model='/m'",
        "INFO 12-01 10:00:00 [config.py:1] Using max model len 2048",
        "INFO 12-01 10:00:01 [cuda.py:1] Using FLASHINFER attention backend out of potential backends",
    ]
    assert ask(boot_log, Fake(), log=lambda: lines, backend="FLASHINFER").detail == "FLASHINFER; 2,048 tokens"
    result = ask(boot_log, Fake(), log=lambda: lines, backend="FLASH_ATTN")
    assert result.passed is False
    assert "the launch asks for the backend FLASH_ATTN, and the engine uses FLASHINFER" in result.detail
    assert ask(boot_log, Fake(), log=lambda: lines, max_model_len=4096).passed is False
    assert ask(boot_log, Fake(), log=list).passed is None


def test_a_server_that_goes_ends_the_battery() -> None:
    server = Fake(v1__models=(500, {}), health=(500, {}))
    with running(server):
        results = list(battery.run(subject_of(server)))
    assert [result.name for result in results] == ["models", "still there"]
    assert results[-1].detail == "it answers no more after the check 'models'"


@pytest.mark.parametrize("answer", [[], {"choices": []}, {"choices": [7]}, {"usage": 3, "choices": [{}]}, "text"])
def test_garbage_fails_and_never_raises(answer: Any) -> None:
    server = Fake(v1__completions=(200, answer), v1__chat__completions=(200, answer), tokenize=(200, answer))
    with running(server):
        results = list(battery.run(subject_of(server, model_bytes=16 << 30)))
    failed = {result.name for result in results if result.passed is False}
    assert {"prefix hit", "full batch", "long prompt", "known answers", "tool call"} <= failed
    assert all(result.fix and "Traceback" not in result.detail for result in results if result.passed is False)
