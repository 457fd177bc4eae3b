"""How the server that is measured answers one request, rightly or as its faults say."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from resolver.measure.corpus import Dice, sentence
from tests.fake_http import MODEL, FakeHandler
from tests.measure.fake_model import pieces, text_of

if TYPE_CHECKING:
    from tests.measure.fake_server import FakeServer

WIDTH, ACCEPTED = 3, 2
"""Drafts of a step, and how many of them are taken."""


class Handler(FakeHandler):
    """Answers one request."""

    server: FakeServer

    def do_GET(self) -> None:
        """Who it is, and its counters."""
        if self.path == "/health":
            self.send(200, b"")
        elif not self.has_key():
            self.send(401, {"error": "Unauthorized"})
        elif self.path == "/metrics" and not self.server.faults.no_metrics:
            self.send(200, self.server.metrics().encode(), "text/plain")
        elif self.path == "/v1/models":
            self.send(200, {"data": [{"id": MODEL, "root": self.server.root, "max_model_len": self.server.longest}]})
        elif self.path == "/version":
            self.send(200, {"version": "0.31.0"})
        else:
            self.send(404, {"error": "not found"})

    def do_POST(self) -> None:
        """Tokens, or an answer."""
        body = self.body()
        server = self.server
        server.asked.append((self.path, body))
        if self.path == "/tokenize":
            if server.faults.no_tokenize:
                self.send(404, {"error": "not found"})
                return
            tokens = server.tokenizer(text_of(body["messages"]) if "messages" in body else body["prompt"])
            self.send(200, {"count": len(tokens), "tokens": tokens, "max_model_len": server.longest})
            return
        with server.lock:
            server.generations += 1
            number = server.generations
        faults = server.faults
        if (faults.fail_after is not None and number > faults.fail_after) or (faults.fail and faults.fail(number)):
            self.send(500, {"error": {"message": "EngineCore encountered an issue."}})
        elif "prompt_logprobs" in body:
            self.log_probabilities(body)
        elif self.path == "/v1/completions":
            self.complete(body)
        elif isinstance(body.get("tool_choice"), dict):
            self.call(body)
        else:
            self.chat(body)

    def complete(self, body: dict[str, Any]) -> None:
        """The completions that `serve` asks for before it says that a server is ready."""
        if body.get("stream"):
            self.begin()
            for data in ('{"choices": [{"text": "a"}]}', "[DONE]"):
                self.event(data)
        else:
            self.send(200, {"choices": [{"text": "abc"}], "usage": {"completion_tokens": 3}})

    def log_probabilities(self, body: dict[str, Any]) -> None:
        """Log-probabilities of a prompt: every token had a chance of 1 in 8."""
        found = [None] + [{str(token): {"logprob": -2.0794415416798357, "rank": 8}} for token in body["prompt"][1:]]
        self.send(200, {"choices": [{"text": "a", "prompt_logprobs": found}], "usage": {"completion_tokens": 1}})

    def call(self, body: dict[str, Any]) -> None:
        """A forced tool call."""
        call = {"function": {"name": "get_time", "arguments": '{"city": "Rome"}'}, "index": 0}
        if not body.get("stream"):
            self.send(200, {"choices": [{"message": {"tool_calls": [call]}}], "usage": {"completion_tokens": 9}})
            return
        events = [
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "get_time", "arguments": ""}}]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"Rome"}'}}]}}]},
            {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 9}},
        ]
        self.begin()
        for event in events:
            self.event(json.dumps(event))
        self.event("[DONE]")

    def chat(self, body: dict[str, Any]) -> None:
        """A streamed answer."""
        server, faults = self.server, self.server.faults
        tokens = server.tokenizer(text_of(body["messages"]))
        limit = body["max_tokens"]
        if len(tokens) + limit > server.longest:
            self.send(400, {"error": {"message": f"{len(tokens)} and {limit} tokens are more than {server.longest}"}})
            return
        cached = len(tokens) - 1 if faults.always_hits else server.look_up(body.get("cache_salt", ""), tokens)
        time.sleep(server.per_token * (len(tokens) - cached))
        right = server.reply(body["messages"])
        said = server.damage(len(tokens), cached, right) if server.damage else None
        parts = pieces(right if said is None else said)
        if body.get("ignore_eos"):
            more = Dice(len(tokens), cached)
            while len(parts) < limit:
                parts += pieces(" " + sentence(more))
        finish = "length" if len(parts) > limit or body.get("ignore_eos") else "stop"
        parts = parts[:limit]
        usage: dict[str, Any] = {"prompt_tokens": len(tokens), "completion_tokens": 0}
        steps = self.steps(parts)
        if faults.buffers:
            time.sleep(server.per_step * len(steps))
        self.begin()
        began = time.monotonic()
        for at, step in enumerate(steps):
            if faults.drop_after is not None and at >= faults.drop_after:
                self.cut()
                return
            if at and not faults.buffers:
                time.sleep(server.per_step)
            usage["completion_tokens"] += len(step)
            choice = {"delta": {"content": "".join(step)}, "finish_reason": finish if at == len(steps) - 1 else None}
            running = {} if faults.no_running_usage else {"usage": self.lied(dict(usage), at)}
            self.event(faults.garbage or json.dumps({"choices": [choice], **running}))
        if not steps:
            self.event(json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
        spent = time.monotonic() - began + (server.per_step * len(steps) if faults.buffers else 0)
        with server.lock:
            server.counts["decode_s"] += spent
        self.count(len(tokens), len(parts), cached, len(steps))
        if not faults.no_details:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        self.event(json.dumps({"choices": [], "usage": self.lied(usage, len(steps))}))
        if faults.no_end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.event("[DONE]")

    def steps(self, parts: list[str]) -> list[list[str]]:
        """Tokens by the step in which they are made: one of the prefill, then what is accepted and one more."""
        if self.server.faults.one_piece:
            return [parts] if parts else []
        width = ACCEPTED + 1 if self.server.drafts else 1
        return [parts[:1], *(parts[at : at + width] for at in range(1, len(parts), width))] if parts else []

    def count(self, prompt: int, made: int, cached: int, steps: int) -> None:
        """Move the counters."""
        server = self.server
        with server.lock:
            counts = server.counts
            counts["prompt"] += prompt + server.faults.foreign
            counts["generated"] += made + server.faults.foreign
            counts["finished"] += 1 + bool(server.faults.foreign)
            counts["queries"] += prompt
            counts["hits"] += cached
            counts["preempted"] += server.faults.preempts
            if server.drafts and not server.faults.one_piece:
                drafting = max(0, steps - 1)
                counts["drafts"] += drafting
                counts["drafted"] += WIDTH * drafting
                counts["accepted"] += max(0, made - 1 - drafting)

    def lied(self, usage: dict[str, Any], at: int) -> dict[str, Any]:
        """The usage as this server gives it."""
        lie = self.server.faults.lie
        if lie == "more":
            usage["completion_tokens"] *= 3
        elif lie == "zero":
            usage["completion_tokens"] = 0
        elif lie == "prompt":
            usage["prompt_tokens"] += 12
        elif lie == "shrinks" and at % 2:
            usage["completion_tokens"] = 1
        return usage

    def chunk(self, data: bytes) -> None:
        """Send bytes as one chunk."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def event(self, data: str) -> None:
        """Send one event, whole or in two."""
        faults = self.server.faults
        if faults.keep_alive:
            self.chunk(b": keep-alive\n\n")
        raw = f"data: {data}\r\n\r\n".encode()
        if faults.split:
            self.chunk(raw[: faults.split])
            raw = raw[faults.split :]
        self.chunk(raw)
        if data == "[DONE]":
            self.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Cut the connection in the middle of an event."""
        self.wfile.write(b'20\r\ndata: {"choices": [{"del')
        self.wfile.flush()
        self.connection.close()
