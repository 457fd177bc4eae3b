# SPDX-License-Identifier: Apache-2.0
"""Mixed load on a server over HTTP: a number of streams, prompts of all lengths, some aborted, every answer checked.

A question that is asked again must get the same answer up to near-ties, so only its length and finish are checked here;
what the tokens are is compared engine against engine elsewhere (`e2e.compare`).
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LENGTHS = (40, 300, 2000, 9000, 30_000)
TOKENS = (1, 16, 64, 200)


@dataclass
class Load:
    """The load and what came of it."""

    port: int
    model: str
    streams: int
    until: float
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def _count(self, what: str, number: int = 1) -> None:
        with self.lock:
            self.counts[what] += number

    def _ask(self, prompt: list[int], tokens: int, abort: bool) -> None:
        body = json.dumps({"model": self.model, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True,
                           "ignore_eos": True, "return_token_ids": True}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise ValueError(f"status {answer.status}: {answer.read(300)!r}")
            got, finish = 0, None
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                choice: dict[str, Any] = json.loads(line[6:])["choices"][0]
                got += len(choice.get("token_ids") or ())
                finish = choice.get("finish_reason") or finish
                if abort and got:
                    self._count("aborted")
                    return
            if got != tokens or finish != "length":
                raise ValueError(f"{got} of {tokens} tokens for a prompt of {len(prompt)}, finish {finish}")
            self._count("answered")
            self._count("tokens", got)
            self._count("prompt tokens", len(prompt))
        finally:
            connection.close()

    def _stream(self, number: int) -> None:
        draw = random.Random(number)
        while time.time() < self.until:
            # Few seeds, so that prompts share beginnings and the prefix cache is hit.
            length = draw.choice(LENGTHS) + draw.randrange(700)
            prompt = random.Random(draw.randrange(6)).choices(range(250), k=length)
            try:
                self._ask(prompt, draw.choice(TOKENS), abort=draw.random() < 0.1)
            except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
                with self.lock:
                    self.problems.append(f"{type(error).__name__}: {error}"[:300])
                if len(self.problems) > 20:
                    return

    def run(self) -> dict[str, Any]:
        """Load until the time is up. Returns what happened."""
        begun = time.time()
        threads = [threading.Thread(target=self._stream, args=(number,)) for number in range(self.streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"seconds": round(time.time() - begun, 1), "streams": self.streams, **self.counts,
                "problems": self.problems[:5], "failed": len(self.problems)}


def wait_for(port: int, until: float, alive: Any) -> bool:
    """Whether /health answers 200 before the time is up and while `alive()`."""
    while time.time() < until and alive():
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        time.sleep(0.5)
    return False
