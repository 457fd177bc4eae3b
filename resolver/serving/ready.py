"""Is the server ready? Not because /health says so: because it is the right one and does what it is for.

Identity, a completion, a streamed completion, a tool call and, with a key, a refusal without it. An engine may answer
/health and still die at its first completion, so nothing less counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from resolver.serving import tool_call
from resolver.serving.client import BadAnswer, Client, NoAnswer, as_object, count
from resolver.serving.secrets import Secret

WRONG_KEY = Secret("a-key-that-nobody-has")
HEALTH_WAIT, PAUSE = 5.0, 0.5  # seconds for one look at /health, and between two


class Failed(Exception):
    """A check was answered, and wrongly; the text says how."""


@dataclass(frozen=True)
class Target:
    """What is to be ready.

    Attributes:
        client: where it listens.
        model: the name under which it serves its model.
        root: the model's path as the launch has it; None where it is not to be compared.
        tools: whether it was launched with tools.
    """

    client: Client
    model: str
    root: str | None = None
    tools: bool = True


@dataclass(frozen=True)
class Result:
    """One check: its name, whether it passed, what was seen, and how many seconds it took."""

    name: str
    passed: bool
    detail: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """All that was checked. `problem` is why nothing, or not everything, could be."""

    results: tuple[Result, ...] = ()
    problem: str = ""

    @property
    def ready(self) -> bool:
        """Whether everything was checked and passed."""
        return bool(self.results) and not self.problem and all(result.passed for result in self.results)


def identity(target: Target) -> str:
    """Check that the server is the one that was launched: its model's name, and path, are the launch's."""
    answer = as_object(*target.client.get("/v1/models"))
    models = [entry for entry in _list(answer, "data") if isinstance(entry, dict)]
    found = next((entry for entry in models if entry.get("id") == target.client.hide(target.model)), None)
    if found is None:
        raise Failed(
            f"another server is there: it serves {', '.join(str(entry['id']) for entry in models if entry.get('id')) or 'nothing'}"
        )
    if target.root is not None and found.get("root") != target.client.hide(target.root):
        raise Failed(f"another server is there: its {target.model} is {found.get('root') or 'of an unknown folder'}")
    return f"{target.model}, {found.get('max_model_len', 'unknown')} tokens"


def completion(target: Target) -> str:
    """Check that a completion brings tokens."""
    answer = target.client.post(
        "/v1/completions",
        {"model": target.model, "prompt": "Hello", "max_tokens": 8, "temperature": 0, "ignore_eos": True},
    )
    tokens = _usage(answer)
    if not isinstance(_first(answer).get("text"), str) or tokens < 1:
        raise Failed("the completion has no text")
    return f"{tokens} tokens"


def streamed(target: Target) -> str:
    """Check that a streamed completion brings text in parts and says where it ends."""
    parts = 0
    ended = False
    for data in target.client.stream(
        "/v1/completions",
        {
            "model": target.model,
            "prompt": "Hello",
            "max_tokens": 8,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
        },
    ):
        if data == "[DONE]":
            ended = True
            break
        try:
            event = json.loads(data)
        except ValueError:
            raise Failed(f"a part of the stream is no JSON: {data[:200]}") from None
        if not isinstance(event, dict) or "error" in event:
            raise Failed(f"the stream brought an error: {data[:200]}")
        parts += bool(_first(event).get("text"))
    if not ended:
        raise Failed("the stream ended without [DONE]")
    if not parts:
        raise Failed("the stream brought no text")
    return f"{parts} parts"


def called(target: Target) -> str:
    """Check that a tool that must be called is called, with a city of those that it knows."""
    name, arguments = tool_call.call_of(target.client.post("/v1/chat/completions", tool_call.question(target.model)))
    if problem := tool_call.wrong(name, arguments, exact=False):
        raise Failed(problem)
    return tool_call.said(name, arguments)


def refusal(target: Target) -> str:
    """Check that nobody gets in without the key: no key and a wrong key each get a 401."""
    for key, who in ((False, "without a key"), (WRONG_KEY, "with a wrong key")):
        status, _ = target.client.get("/v1/models", key)
        if status != 401:
            raise Failed(f"asked {who}, the server answers with status {status}, not 401")
    return "401 without it"


def checks(target: Target) -> Iterator[tuple[str, Callable[[Target], str]]]:
    """Yield the checks that the launch calls for."""
    yield "identity", identity
    yield "completion", completion
    yield "streamed completion", streamed
    if target.tools:
        yield "tool call", called
    if target.client.key:
        yield "key required", refusal


def examine(target: Target) -> Report:
    """Run the checks, each once, up to the first that fails."""
    results: list[Result] = []
    for name, check in checks(target):
        began = time.monotonic()
        try:
            passed, detail = True, check(target)
        except (Failed, NoAnswer, BadAnswer) as error:
            passed, detail = False, str(error)
        results.append(Result(name, passed, detail, time.monotonic() - began))
        if not passed:
            break
    return Report(tuple(results))


def wait_until_ready(
    target: Target, alive: Callable[[], bool], seconds: float, say: Callable[[float], None] = lambda elapsed: None
) -> Report:
    """Wait for the server to come up, then examine it, once.

    Args:
        target: the server.
        alive: whether its process still runs; when it ends, so does the waiting.
        seconds: how long to wait for it to come up.
        say: called twice a second or so with the seconds gone by, to show progress.
    """
    began = time.monotonic()
    health = Client(target.client.host, target.client.port, target.client.key, HEALTH_WAIT)
    last = "nothing answers"
    while (elapsed := time.monotonic() - began) < seconds:
        say(elapsed)
        try:
            status, _ = health.get("/health")
            if status == 200:
                break
            last = f"/health answers with status {status}"
        except (NoAnswer, BadAnswer) as error:
            last = str(error)
        if not alive():
            return Report(problem=f"the engine ended after {elapsed:.0f} s, before it was up")
        time.sleep(PAUSE)
    else:
        return Report(problem=f"not up after {seconds:.0f} s: {last}")
    report = examine(target)
    if not alive():
        return Report(report.results, "the engine ended while it was being asked")
    return report


def _list(answer: dict[str, Any], name: str) -> list[Any]:
    found = answer.get(name)
    if not isinstance(found, list):
        raise Failed(f"the answer has no list {name!r}")
    return found


def _first(answer: dict[str, Any]) -> dict[str, Any]:
    choices = _list(answer, "choices")
    return choices[0] if choices and isinstance(choices[0], dict) else {}


def _usage(answer: dict[str, Any]) -> int:
    usage = answer.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count(tokens) or 0
