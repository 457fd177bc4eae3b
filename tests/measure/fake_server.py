"""A stand-in for a vLLM server that is measured: it counts tokens, caches prefixes, drafts, answers, and can be wrong in many ways.

Its "model" copies, finds needles, calls tools and does sums, so that every tool has something to find right; `damage` and the
fields of `Faults` make it wrong.
"""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from resolver.measure.corpus import Dice, sentence
from resolver.measure.server import Server
from resolver.serving.client import Client
from resolver.serving.secrets import Secret

MODEL, ROOT, KEY = "qwen3.8-27b", "/models/q", "sk-do-not-show-me"
PIECE = re.compile(r" ?[A-Za-z0-9_]+|.", re.DOTALL)
TEMPLATE = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
WIDTH, ACCEPTED = 3, 2


def pieces(text: str) -> list[str]:
    """The tokens of a text, as text."""
    return PIECE.findall(text)


def ids(text: str) -> list[int]:
    """The tokens of a text, as numbers."""
    return [zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 50000 for piece in pieces(text)]


@dataclass
class Faults:
    """What is wrong with the server.

    Attributes:
        drop_after: parts of a stream, after which the connection is cut.
        keep_alive: comments between the parts.
        split: bytes of a part that are sent first, the rest a moment later.
        lie: "more", "zero", "prompt" or "shrinks": what its usage says that is not so.
        fail_after: requests, after which all answers are a 500.
        fail: what tells, from the number of the request, that it gets a 500.
        garbage: answers with this instead of an event.
        no_end: leaves out [DONE].
        never_hits: its cache serves nothing.
        always_hits: it says that everything came from the cache.
        foreign: tokens of somebody else that come with each request.
        busy: requests of others that run.
        no_metrics, frozen_metrics: has no counters, or they do not move.
        no_details: does not say how much was cached.
        no_running_usage: counts only in the end.
        no_tokenize: does not count tokens.
        one_piece: sends an answer whole.
        forgets: conversations evict each other: only the last prompt stays in the cache.
        preempts: each request is preempted once.
        buffers: a proxy that holds an answer back and hands it on all at once.
    """

    drop_after: int | None = None
    keep_alive: bool = False
    split: int = 0
    lie: str = ""
    fail_after: int | None = None
    fail: Callable[[int], bool] | None = None
    garbage: str | None = None
    no_end: bool = False
    never_hits: bool = False
    always_hits: bool = False
    foreign: int = 0
    busy: int = 0
    no_metrics: bool = False
    frozen_metrics: bool = False
    no_details: bool = False
    no_running_usage: bool = False
    no_tokenize: bool = False
    one_piece: bool = False
    forgets: bool = False
    buffers: bool = False
    preempts: bool = False


Damage = Callable[[int, int, str], str | None]


class FakeServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        faults: what is wrong with it.
        damage: takes (templated length, cached tokens, the right answer) and may give another answer.
        reply: takes the messages and gives the right answer; the default one can do what the tools ask.
        block: tokens of a block of the cache.
        longest: the longest context.
        per_token, per_step: seconds that a prompt token and a step of decoding take.
        drafts: whether it drafts.
        unit: how many tokens " x" is; a tokenizer of bytes has two.
        cache_info: further labels of the cache's line.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        faults: Faults | None = None,
        damage: Damage | None = None,
        reply: Callable[[Sequence[dict[str, Any]]], str] | None = None,
        block: int = 16,
        longest: int = 4096,
        per_token: float = 0.0,
        per_step: float = 0.0,
        drafts: bool = True,
        tokenizer: Callable[[str], list[int]] = ids,
        cache_info: str = "",
        key: str | None = None,
        root: str = ROOT,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.faults, self.damage, self.reply = faults or Faults(), damage, reply or answer_to
        self.block, self.longest, self.per_token, self.per_step = block, longest, per_token, per_step
        self.drafts, self.tokenizer, self.cache_info, self.key = drafts, tokenizer, cache_info, key
        self.root = root
        self.cache: set[int] = set()
        self.counts: dict[str, float] = dict.fromkeys(
            (
                "prompt",
                "generated",
                "finished",
                "queries",
                "hits",
                "drafts",
                "drafted",
                "accepted",
                "decode_s",
                "preempted",
            ),
            0,
        )
        self.lock = threading.Lock()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.generations = 0
        super().__init__(address, Handler)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def server(self, wait: float = 20.0) -> Server:
        """It, as the tools take it."""
        return Server(Client("127.0.0.1", self.port, Secret(self.key) if self.key else None, wait), MODEL)

    def look_up(self, salt: str, tokens: Sequence[int]) -> int:
        """How much of a prompt the cache has; afterwards it has all whole blocks."""
        chain = zlib.crc32(salt.encode())
        hashes = []
        for at in range(0, len(tokens) - self.block + 1, self.block):
            chain = zlib.crc32(repr(tokens[at : at + self.block]).encode(), chain)
            hashes.append(chain)
        with self.lock:
            known = 0
            while known < len(hashes) and hashes[known] in self.cache:
                known += 1
            if self.faults.forgets:
                self.cache.clear()
            self.cache |= set(hashes)
        if self.faults.never_hits:
            return 0
        return min(known * self.block, (len(tokens) - 1) // self.block * self.block)

    def metrics(self) -> str:
        """The page of counters."""
        labels = f'{{engine="0",model_name="{MODEL}"}}'
        names = {
            "prompt": "prompt_tokens_total",
            "generated": "generation_tokens_total",
            "queries": "prefix_cache_queries_total",
            "hits": "prefix_cache_hits_total",
            "decode_s": "request_decode_time_seconds_sum",
            "preempted": "num_preemptions_total",
        }
        if self.drafts:
            names |= {
                "drafts": "spec_decode_num_drafts_total",
                "drafted": "spec_decode_num_draft_tokens_total",
                "accepted": "spec_decode_num_accepted_tokens_total",
            }
        with self.lock:
            counts = dict.fromkeys(self.counts, 0) if self.faults.frozen_metrics else dict(self.counts)
        lines = ["# HELP process_start_time_seconds Start", "process_start_time_seconds 1.5e+09"]
        lines += [f"vllm:{name}{labels} {float(counts[ours])}" for ours, name in names.items()]
        for reason, value in (("stop", 0.0), ("length", float(counts["finished"]))):
            lines.append(f'vllm:request_success_total{{engine="0",finished_reason="{reason}"}} {value}')
        lines += [
            f"vllm:num_requests_running{labels} {float(self.faults.busy)}",
            f"vllm:num_requests_waiting{labels} 0.0",
        ]
        if self.drafts:
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{at}"}} 1.0' for at in range(WIDTH)
            ]
        lines.append(f'vllm:cache_config_info{{block_size="{self.block}",{self.cache_info}engine="0"}} 1.0')
        return "\n".join(lines) + "\n"


def text_of(messages: Sequence[dict[str, Any]]) -> str:
    """The chat after the template."""
    return TEMPLATE.format("\n".join(f"{one['role']}: {one.get('content') or ''}" for one in messages))


def answer_to(messages: Sequence[dict[str, Any]]) -> str:
    """What a good model says."""
    said = str(messages[-1].get("content"))
    if found := re.search(r"Repeat the first (\d+) lines", said):
        return "\n".join(said.split("\n\n", maxsplit=1)[0].split("\n")[: int(found[1])])
    if found := re.search(r"secret number of the ([a-z ]+) vault\?", said):
        number = re.search(rf"secret number of the {found[1]} vault is (\d+)", said)
        return f"It is {number[1]}." if number else "I do not know."
    if found := re.search(r"What is (\d+) plus (\d+)\?", said):
        return f"Let me see.\n#### {int(found[1]) + int(found[2])}"
    if messages[-1]["role"] == "tool":
        return f"It is {said} in Rome."
    dice = Dice("fake", said[-200:], len(said))
    return " ".join(sentence(dice) for _ in range(200))


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: FakeServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Who it is, and its counters."""
        if self.path == "/health":
            self.send(200, b"")
        elif self.server.key and self.headers["Authorization"] != f"Bearer {self.server.key}":
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
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
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

    def begin(self) -> None:
        """Start a stream that ends with the connection."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True

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

    def send(self, status: int, content: Any, kind: str = "application/json") -> None:
        """Send a whole answer."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def running(server: FakeServer) -> Iterator[FakeServer]:
    """Serve until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bytes_of(text: str) -> list[int]:
    """A tokenizer of bytes, such as the tiny model has."""
    return list(text.encode("utf-8"))


__all__ = ["KEY", "MODEL", "ROOT", "Damage", "FakeServer", "Faults", "bytes_of", "running"]
