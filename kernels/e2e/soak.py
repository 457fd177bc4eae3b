# SPDX-License-Identifier: Apache-2.0
"""Mixed load on a server over HTTP: streams that ask one thing after another, of several kinds; every answer is checked.

An answer must have the tokens that were asked for. A question that is asked again should get the same answer up to
near-ties, so other answers are counted, not called wrong: what the tokens are is compared elsewhere (`e2e.compare`).
"""

from __future__ import annotations

import http.client
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LENGTHS = (40, 300, 2000, 9000, 30_000)
TOKENS = (1, 16, 64, 200)
TEXT_TOKENS = 250
DOCUMENTS, DOCUMENT_TOKENS = 6, 30_000
QUESTIONS = 8
BURST = 12
"""More at once than a server of eight requests takes, so that some wait."""
MARGIN = 256
"""A long prompt ends up to this far below the longest that the server takes with its answer."""
KINDS = {"fresh": 30, "shared": 30, "repeated": 15, "aborted": 6, "aborted early": 4, "sampled": 7, "logprobs": 5, "burst": 2, "long": 1}
"""What a stream asks next, in hundredths. `shared` begins with a document that was seen before, `long` is as long as may be."""
ENOUGH = 20
"""After so many failures a stream goes on no longer: the server does not answer, and a full log helps nobody."""


@dataclass
class Load:
    """The load and what came of it. It ends at `until`, when `stop` is set, or after too many failures."""

    port: int
    model: str
    streams: int
    until: float
    longest: int = 32_768
    stop: threading.Event = field(default_factory=threading.Event)
    timeout: float = 120.0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest: float = 0.0
    answers: dict[int, list[int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def _count(self, what: str, number: int = 1) -> None:
        with self.lock:
            self.counts[what] += number

    def ask(self, kind: str, prompt: list[int], tokens: int, *, keep: int | None = None, **sampling: Any) -> list[int]:
        """Ask, read `keep` tokens of the answer or all, check and count it. Returns its tokens. `keep` of 0 hangs up unheard.

        Raises ValueError for a wrong answer, OSError or HTTPException when there is none.
        """
        body = json.dumps({"model": self.model, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True,
                           "ignore_eos": True, "return_token_ids": True, **sampling}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        begun = time.time()
        got: list[int] = []
        try:
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            if keep == 0:
                time.sleep(random.Random(len(prompt)).random() * 0.3)
                self._count(kind)
                return got
            answer = connection.getresponse()
            if answer.status != 200:
                raise ValueError(f"status {answer.status}: {answer.read(300)!r}")
            finish = None
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                event: dict[str, Any] = json.loads(line[6:])
                if "choices" not in event:
                    raise ValueError(f"no answer but {line[:300]!r}")
                choice: dict[str, Any] = event["choices"][0]
                if choice.get("token_ids") and not got:
                    with self.lock:
                        self.slowest = max(self.slowest, time.time() - begun)
                got += choice.get("token_ids") or ()
                logprobs = (choice.get("logprobs") or {}).get("token_logprobs") or ()
                if not all(value is None or math.isfinite(value) for value in logprobs):
                    raise ValueError(f"log-probabilities {logprobs}")
                finish = choice.get("finish_reason") or finish
                if keep is not None and len(got) >= keep:
                    self._count(kind)
                    return got
            if len(got) != tokens or finish != "length":
                raise ValueError(f"{len(got)} of {tokens} tokens for a prompt of {len(prompt)}, finish {finish}")
        finally:
            connection.close()
        with self.lock:
            self.counts.update({kind: 1, "answered": 1, "tokens": len(got), "prompt tokens": len(prompt)})
        return got

    def next(self, draw: random.Random, kind: str) -> None:
        """Ask one thing of a kind. Raises what `ask` raises."""
        tokens = draw.choice(TOKENS)
        text = random.Random(draw.getrandbits(48)).choices(range(TEXT_TOKENS), k=self._length(draw))
        if kind == "shared":
            self.ask(kind, document(draw.randrange(DOCUMENTS), self._length(draw) - 300) + text[:draw.randrange(1, 300)], tokens)
        elif kind == "repeated":
            self._repeat(draw.randrange(QUESTIONS))
        elif kind == "aborted":
            self.ask(kind, text, 200, keep=draw.randrange(1, 60))
        elif kind == "aborted early":
            self.ask(kind, text, 200, keep=0)
        elif kind == "sampled":
            self.ask(kind, text, tokens, temperature=0.8, top_p=0.9, top_k=20)
        elif kind == "logprobs":
            self.ask(kind, text, tokens, logprobs=1)
        elif kind == "burst":
            self._burst([random.Random(draw.getrandbits(48)).choices(range(TEXT_TOKENS), k=draw.randrange(20, 400)) for _ in range(BURST)])
        elif kind == "long":
            length = self.longest - 16 - draw.randrange(MARGIN)
            known = document(draw.randrange(DOCUMENTS), min(length // 4, DOCUMENT_TOKENS))
            self.ask(kind, known + draw.choices(range(TEXT_TOKENS), k=length - len(known)), 16)
        else:
            self.ask(kind, text, tokens)

    def _length(self, draw: random.Random) -> int:
        return min(draw.choice(LENGTHS) + draw.randrange(300, 700), self.longest - max(TOKENS) - 1)

    def _repeat(self, question: int) -> None:
        draw = random.Random(10_000 + question)
        text = draw.choices(range(TEXT_TOKENS), k=self._length(draw))
        got = self.ask("repeated", text, 64)
        with self.lock:
            if self.answers.setdefault(question, got) != got:
                self.counts["repeated, another answer"] += 1

    def _burst(self, prompts: list[list[int]]) -> None:
        threads = [threading.Thread(target=self._try, args=(lambda prompt=prompt: self.ask("burst", prompt, 16),)) for prompt in prompts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _try(self, what: Callable[[], object]) -> None:
        try:
            what()
        except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException) as error:
            with self.lock:
                self.problems.append(f"{type(error).__name__}: {error}"[:300])

    def _stream(self, number: int) -> None:
        draw = random.Random(number)
        first = list(KINDS)[number::self.streams]                     # so that a kind the server cannot answer shows at once
        while time.time() < self.until and not self.stop.is_set() and len(self.problems) <= ENOUGH:
            kind = first.pop() if first else draw.choices(list(KINDS), weights=list(KINDS.values()))[0]
            self._try(lambda kind=kind: self.next(draw, kind))

    def seen(self) -> dict[str, Any]:
        """What happened so far."""
        with self.lock:
            return {**self.counts, "slowest first token s": round(self.slowest, 2), "problems": self.problems[:5],
                    "failed": len(self.problems)}

    def run(self) -> dict[str, Any]:
        """Load until the end. Returns what happened."""
        begun = time.time()
        threads = [threading.Thread(target=self._stream, args=(number,)) for number in range(self.streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"seconds": round(time.time() - begun, 1), "streams": self.streams, **self.seen()}


def document(number: int, tokens: int) -> list[int]:
    """The beginning of one of a few texts."""
    return random.Random(number).choices(range(TEXT_TOKENS), k=max(1, tokens))


def get(port: int, path: str, timeout: float = 5.0) -> str | None:
    """What the server answers with status 200, else None."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read().decode(errors="replace") if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def wait_for(port: int, until: float, alive: Callable[[], bool]) -> bool:
    """Whether /health answers 200 before the time is up and while `alive()`."""
    while time.time() < until and alive():
        if get(port, "/health", 2) is not None:
            return True
        time.sleep(0.5)
    return False
