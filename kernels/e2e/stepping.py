# SPDX-License-Identifier: Apache-2.0
"""Drive an engine step by step in this process, and keep what came out of each step with its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from vllm import SamplingParams
from vllm.sampling_params import RequestOutputKind


PAUSE = 8
"""A request that got nothing for so many steps while others did was turned out: one that runs gets a token a step."""


@dataclass
class Answer:
    """What one request got. `logprobs` holds, for each token, the few likeliest as [token, logprob], best first.

    `pauses` are the places in `tokens` before which it had been turned out and taken in again; `last` is the step of its last token.
    """

    tokens: list[int] = field(default_factory=list)
    logprobs: list[list[list[float]]] = field(default_factory=list)
    first: float | None = None
    cached: int | None = None
    pauses: list[int] = field(default_factory=list)
    last: int = 0


@dataclass(frozen=True)
class Step:
    """One engine step that gave tokens: when, how many, and how many requests had begun to answer."""

    at: float
    tokens: int
    begun: int


@dataclass
class Run:
    """All of it. `start` is when the first request was handed over."""

    start: float
    answers: dict[str, Answer]
    steps: list[Step] = field(default_factory=list)

    def ttft(self) -> float:
        """Seconds to the first token of the request that got it last."""
        return max(answer.first or float("inf") for answer in self.answers.values()) - self.start


def settle() -> None:
    """Wait until the GPU, if there is one, did what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Stepper:
    """An engine and a counter of requests."""

    def __init__(self, engine: Any, name: str) -> None:
        self.engine, self.name, self.count = engine, name, 0

    def run(self, prompts: Iterable[list[int]], tokens: int, *, logprobs: int | None = None, at_once: int | None = None,
            watch: Callable[[Run], None] | None = None, until: float = float("inf")) -> Run:
        """Answer all prompts greedily with exactly `tokens` tokens; at most `at_once` are handed over at a time.

        `watch` is called after each step that gave tokens. After `until` no further prompt is handed over.
        """
        waiting = list(prompts)[::-1]
        greedy = SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True, logprobs=logprobs, detokenize=False,
                                output_kind=RequestOutputKind.DELTA)
        settle()
        run, open_requests = Run(time.time(), {}), 0
        while waiting or self.engine.has_unfinished_requests():
            while waiting and (at_once is None or open_requests < at_once):
                if time.time() > until:
                    waiting.clear()
                    break
                self.count += 1
                key = f"{self.name}-{self.count}"
                run.answers[key] = Answer()
                self.engine.add_request(key, {"prompt_token_ids": waiting.pop()}, greedy)
                open_requests += 1
            new = 0
            for output in self.engine.step():
                new += self._keep(run.answers[output.request_id], output, time.time(), len(run.steps))
                open_requests -= output.finished
            if new:
                run.steps.append(Step(time.time(), new, sum(a.first is not None for a in run.answers.values())))
                if watch is not None:
                    watch(run)
        return run

    @staticmethod
    def _keep(answer: Answer, output: Any, now: float, step: int) -> int:
        part = output.outputs[0] if output.outputs else None
        if part is None or not part.token_ids:
            return 0
        if answer.tokens and step - answer.last > PAUSE:
            answer.pauses.append(len(answer.tokens))
        answer.first, answer.last = answer.first or now, step
        answer.tokens += part.token_ids
        if output.num_cached_tokens is not None:
            answer.cached = output.num_cached_tokens
        for choices in part.logprobs or ():
            best = sorted(((token, round(item.logprob, 5)) for token, item in choices.items()), key=lambda x: -x[1])
            answer.logprobs.append([list(pair) for pair in best])
        return len(part.token_ids)
