"""What does a check of the battery work on?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from resolver.measure.corpus import document
from resolver.measure.server import Server
from resolver.serving.client import count
from resolver.serving.ready import Target

ROOM = 16
"""Tokens left for the answer, its drafts, and what a template may add."""


class Refuted(Exception):
    """A check was answered, and wrongly. `message` says how, `fix` what to do."""

    def __init__(self, message: str, fix: str) -> None:
        """Take both texts, one sentence each."""
        super().__init__(message)
        self.message, self.fix = message, fix


class NotApplicable(Exception):
    """The launch has nothing that this check could look at; the text says why."""


@dataclass(frozen=True)
class Subject:
    """The server that is put to the battery, and what the launch says of it.

    Attributes:
        target: where it listens, and what it serves.
        server: the same, as the measuring tools ask it.
        max_model_len: the longest request in tokens; None: the engine chose it.
        max_num_seqs: the most requests at once.
        query_tokens: tokens that each request verifies in a step: one, and its drafts.
        captured: the most query tokens that CUDA graphs were captured for; None without graphs.
        backend: the attention backend that the launch asks for.
        caches_prefixes: whether prefixes are cached.
        model_bytes: the size of the served model; None: unknown.
        free_mib: reads the free memory of the card in MiB; None where nobody knows.
        floor_mib: free MiB after the boot with which a launch like this one died under load; None: nobody saw one die.
        wsl: whether it is Linux under Windows, whose free memory means something else.
        log: reads the engine's log so far.
    """

    target: Target
    server: Server
    max_model_len: int | None = None
    max_num_seqs: int = 1
    query_tokens: int = 1
    captured: int | None = None
    backend: str | None = None
    caches_prefixes: bool = False
    model_bytes: int | None = None
    free_mib: Callable[[], int | None] = lambda: None
    floor_mib: int | None = None
    wsl: bool = False
    log: Callable[[], Sequence[str]] = tuple

    def longest(self) -> int:
        """The longest request that the server takes, in tokens.

        Raises:
            Refuted: nobody says.
        """
        found = self.max_model_len or self.server.identity().max_model_len
        if found <= ROOM:
            raise Refuted("the server does not say how long a request may be", "give MAX_LEN")
        return found

    def prompt(self, seed: str, tokens: int) -> list[int]:
        """A prompt of exactly so many tokens, as ids: text of its own that no cache has seen."""
        ids = self.server.tokens_of_text("\n".join(document(f"accept {seed}", 40)))
        while len(ids) < tokens:
            more = self.server.tokens_of_text("\n".join(document(f"accept {seed} {len(ids)}", 400)))
            if not more:
                raise Refuted("the server makes no tokens of a text", "check its tokenizer")
            ids += more
        return ids[:tokens]

    def complete(self, prompt: list[int], tokens: int) -> dict[str, Any]:
        """Ask for exactly so many tokens, greedily. Returns the answer, its usage looked at.

        Raises:
            Refuted: its usage is not that of the request.
        """
        answer = self.server.client.post(
            "/v1/completions",
            {
                "model": self.target.model,
                "prompt": prompt,
                "max_tokens": tokens,
                "min_tokens": tokens,
                "temperature": 0,
                "ignore_eos": True,
            },
        )
        usage = answer.get("usage")
        seen = (usage.get("prompt_tokens"), usage.get("completion_tokens")) if isinstance(usage, dict) else (None, None)
        if seen != (len(prompt), tokens):
            raise Refuted(
                f"a prompt of {len(prompt)} tokens and {tokens} more were asked for, and the server counts {seen[0]} and {seen[1]}",
                "read the engine's log",
            )
        return answer


def cached(answer: dict[str, Any]) -> int | None:
    """The tokens of the prompt that came from the cache; None where the server does not say."""
    details = answer.get("usage", {}).get("prompt_tokens_details")
    found = details.get("cached_tokens") if isinstance(details, dict) else None
    return count(found)


def text(answer: dict[str, Any]) -> str:
    """What was said."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    return str(first.get("text") or "")
