"""What did one streamed answer bring, and when? Read event by event; whatever is wrong with it is said, never raised.

Tokens are counted by the server's usage, not by the parts of the stream: with drafts one part holds several tokens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from resolver.serving.client import BadAnswer, NoAnswer, count


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        text: what it says, without the reasoning.
        reasoning: what it thought aloud.
        calls: its tool calls, (name, text of the arguments), put together from their parts.
        prompt_tokens, tokens, cached: the usage: prompt, completion, and prompt tokens that came from the cache; None where not said.
        finish: why it ended; empty where not said.
        sent, first, last: seconds on one clock: when it was asked, when the first and the last text came; 0.0 where none came.
        marks: (seconds, completion tokens so far) of each part that says so.
        problem: what is wrong with it; empty where nothing is.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    prompt_tokens: int | None = None
    tokens: int | None = None
    cached: int | None = None
    finish: str = ""
    sent: float = 0.0
    first: float = 0.0
    last: float = 0.0
    marks: tuple[tuple[float, int], ...] = ()
    problem: str = ""

    @property
    def said(self) -> str:
        """Reasoning and text together: what was decoded."""
        return self.reasoning + self.text


def read(
    events: Callable[[], Iterable[str]], limit: int, clock: Callable[[], float] = time.perf_counter, exact: bool = False
) -> Answer:
    """Ask, and read the answer to its end.

    Args:
        events: sends the request and yields the data of each event.
        limit: the most tokens that were asked for.
        clock: tells the seconds.
        exact: exactly `limit` tokens were asked for (the end of the text was to be ignored).
    """
    reader = _Reader(clock)
    reader.sent = clock()
    try:
        for data in events():
            if data == "[DONE]":
                reader.done = True
                break
            reader.take(data)
            if reader.problem:
                break
    except (NoAnswer, BadAnswer) as error:
        reader.problem = str(error)
    return reader.answer(limit, exact)


class _Reader:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.done = False
        self.problem = ""
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, list[str]] = {}
        self.finish = ""
        self.sent = self.first = self.last = 0.0
        self.marks: list[tuple[float, int]] = []
        self.usage: dict[str, Any] = {}

    def take(self, data: str) -> None:
        now = self.clock()
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self.problem = f"a part of the stream is no JSON: {data[:100]}"
            return
        if not isinstance(event, dict) or event.get("error"):
            self.problem = f"the stream brought an error: {data[:200]}"
            return
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = choice.get("delta")
        came = self._text(delta if isinstance(delta, dict) else choice)
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"]
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.usage = usage
            tokens = count(usage.get("completion_tokens"))
            if came and tokens is not None:
                self.marks.append((now, tokens))
        if came:
            self.first = self.first or now
            self.last = now

    def _text(self, delta: dict[str, Any]) -> bool:
        came = False
        for name, place in (("text", self.text), ("content", self.text), ("reasoning", self.reasoning)):
            found = delta.get(name)
            if isinstance(found, str) and found:
                place.append(found)
                came = True
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                at = call.get("index")
                known = self.calls.setdefault(at if isinstance(at, int) else 0, ["", ""])
                for place_at, name in enumerate(("name", "arguments")):
                    if isinstance(function.get(name), str):
                        known[place_at] += function[name]
                        came = True
        return came

    def answer(self, limit: int, exact: bool) -> Answer:
        details = self.usage.get("prompt_tokens_details")
        tokens = count(self.usage.get("completion_tokens"))
        return Answer(
            "".join(self.text),
            "".join(self.reasoning),
            tuple((name, arguments) for _, (name, arguments) in sorted(self.calls.items())),
            count(self.usage.get("prompt_tokens")),
            tokens,
            count(details.get("cached_tokens")) if isinstance(details, dict) else None,
            self.finish,
            self.sent,
            self.first,
            self.last,
            tuple(self.marks),
            self.problem or self._wrong(tokens, limit, exact),
        )

    def _wrong(self, tokens: int | None, limit: int, exact: bool) -> str:
        """What does not fit together in an answer that came whole."""
        if not self.done:
            return "the stream ended without [DONE]: it was cut"
        if tokens is None:
            return "the server does not say how many tokens it made"
        if not 0 <= tokens <= limit:
            return f"its usage says {tokens} tokens, and at most {limit} were asked for"
        if exact and tokens != limit:
            return f"its usage says {tokens} tokens, and exactly {limit} were asked for"
        text = self.text or self.reasoning or self.calls
        if text and not tokens:
            return "its usage says 0 tokens, and text came"
        if any(later < earlier for (_, earlier), (_, later) in zip(self.marks, self.marks[1:], strict=False)):
            return "its count of tokens went down within one answer"
        if not count(self.usage.get("prompt_tokens")):  # no prompt has none: the template alone makes some
            return "the server does not say how many tokens the prompt has"
        return ""
