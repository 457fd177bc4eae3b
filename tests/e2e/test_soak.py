"""The load on a server: every kind of question, what is counted, and what is noticed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e import loaded_server

from e2e import soak  # isort: skip  (tests.e2e makes it importable)


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server's port; its handler has the attributes that the test's parameter names."""
    handler = type("Handler", (loaded_server.Handler,), getattr(request, "param", {}))
    server = loaded_server.Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def load(port: int, seconds: float = 1.0, **more: Any) -> soak.Load:
    return soak.Load(port, "m", 2, time.time() + seconds, 40_000, **more)


def test_a_stream_begins_with_every_kind(served: int) -> None:
    found = load(served, 3).run()
    assert (found["failed"], found["problems"]) == (0, [])
    assert set(soak.KINDS) <= set(found)
    assert found["answered"] == sum(found[kind] for kind in soak.KINDS if not kind.startswith("aborted"))
    assert found["slowest first token s"] < 3


@pytest.mark.parametrize("kind", soak.KINDS)
def test_no_question_is_longer_than_the_server_takes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def note(_: soak.Load, asked: str, prompt: list[int], tokens: int, **more: Any) -> list[int]:
        lengths.append(len(prompt) + tokens)
        return [1] * tokens

    monkeypatch.setattr(soak.Load, "ask", note)
    for longest in (4096, 131_072):
        one = soak.Load(1, "m", 1, 0.0, longest)
        for number in range(40):
            one.next(random.Random(number), kind)
        assert max(lengths) <= longest
        if kind == "long":
            assert min(lengths[-40:]) > longest - soak.MARGIN - 16
    assert all(length > 0 for length in lengths)


@pytest.mark.parametrize("served", [{"how": "short"}], indirect=True)
def test_short_answers_are_noticed_and_the_load_gives_up(served: int) -> None:
    found = load(served, 60).run()
    assert found["failed"] > soak.ENOUGH
    assert " of " in found["problems"][0]
    assert found["seconds"] < 30


def test_a_server_that_is_gone_is_noticed() -> None:
    found = load(1, 60).run()
    assert found["failed"] > soak.ENOUGH
    assert "ConnectionRefusedError" in found["problems"][0]


@pytest.mark.parametrize("served", [{"how": "hangs", "asked": iter(range(60, 1000))}], indirect=True)
def test_a_server_that_does_not_answer_is_noticed(served: int) -> None:
    found = load(served, 0.5, timeout=1.0).run()
    assert found["failed"] > 0
    assert any("Timeout" in problem for problem in found["problems"])


def test_another_answer_to_the_same_question_is_counted(served: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = load(served)
    draw = random.Random(0)
    monkeypatch.setattr(soak, "QUESTIONS", 1)
    one.next(draw, "repeated")
    one.next(draw, "repeated")
    assert one.counts["repeated, another answer"] == 0
    one.answers[0] = [2] * 64
    one.next(draw, "repeated")
    assert (one.counts["repeated, another answer"], one.counts["repeated"], one.problems) == (1, 3, [])


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_logprob_that_is_no_number_is_a_wrong_answer(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    class Handler(loaded_server.Handler):
        def do_POST(self) -> None:
            choice = {"token_ids": [1], "finish_reason": "length", "logprobs": {"token_logprobs": [value]}}
            self.send(200, b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")

    server = loaded_server.Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(ValueError, match="log-probabilities"):
            load(server.server_address[1]).ask("logprobs", [1, 2], 1, logprobs=1)
    finally:
        server.shutdown()


def test_a_load_is_ended_early(served: int) -> None:
    one = load(served, 60)
    threading.Timer(0.5, one.stop.set).start()
    assert one.run()["seconds"] < 20
