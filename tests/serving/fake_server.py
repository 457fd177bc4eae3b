"""A server that answers as vLLM does, and can be told to answer wrongly in one place."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from tests.fake_http import KEY, MODEL, ROOT, FakeHandler, FakeHTTP, running

BLOCK = 128
METRICS = """# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0"} %d
vllm:prompt_tokens_total{engine="0"} %d
vllm:generation_tokens_total{engine="0"} %d
vllm:request_success_total{engine="0"} %d
vllm:num_requests_running{engine="0"} %d
vllm:num_requests_waiting{engine="0"} 0
vllm:cache_config_info{block_size="%d"} 1
"""


class Fake(FakeHTTP):
    """The server. `wrong` maps a path (v1__models for /v1/models, stream for a streamed
    completion) to what it does there instead: an answer, or a function that gives one; `asked` is what came."""

    def __init__(self, key: str | None = None, **wrong: Any) -> None:
        self.key, self.wrong = key, {"/" + name.replace("__", "/"): value for name, value in wrong.items()}
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        self.counts()
        super().__init__(("127.0.0.1", 0), Handler)

    def counts(self) -> None:
        """Begin to count: prefix hits, prompt tokens, generated tokens, finished requests, and those that run."""
        self.seen: set[tuple[int, ...]] = set()
        self.block, self.hits, self.prompts, self.generated, self.finished, self.running = BLOCK, 0, 0, 0, 0, 0
        self.pause = 0.0  # seconds that a completion takes
        self.lock = threading.Lock()


class Handler(FakeHandler):
    """Answers one request."""

    server: Fake

    def do_GET(self) -> None:
        self.respond({})

    def do_POST(self) -> None:
        self.respond(self.body())

    def respond(self, body: dict[str, Any]) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        wrong = self.server.wrong.get("/stream" if body.get("stream") else self.path)
        if callable(wrong):
            wrong(self, body)
        elif wrong is not None:
            self.send(*wrong)
        elif self.path != "/health" and not self.has_key():
            self.send(401, {"error": "Unauthorized"})
        elif self.path == "/health":
            self.send(200, b"")
        elif self.path == "/metrics":
            numbers = (self.server.hits, self.server.prompts, self.server.generated, self.server.finished)
            self.send(200, (METRICS % (*numbers, self.server.running, self.server.block)).encode(), "text/plain")
        elif self.path == "/version":
            self.send(200, {"version": "0.31.0"})
        elif self.path == "/tokenize":
            tokens = [sum(word.encode()) % 1000 for word in str(body["prompt"]).split()]
            self.send(200, {"count": len(tokens), "tokens": tokens})
        elif body.get("model", MODEL) != MODEL:
            self.send(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        elif self.path == "/v1/completions" and isinstance(body["prompt"], list):
            self.send(200, self.completion(body["prompt"], body["max_tokens"]))
        elif self.path == "/v1/models":
            self.send(200, {"data": [{"id": MODEL, "root": ROOT, "max_model_len": 2048}]})
        elif body.get("stream"):
            self.events([json.dumps({"choices": [{"text": "a"}]}), json.dumps({"choices": [{"text": "b"}]}), "[DONE]"])
        elif self.path == "/v1/completions":
            self.send(200, {"choices": [{"text": "abc"}], "usage": {"completion_tokens": 3}})
        else:
            self.send(200, tool('{"city": "Rome"}'))

    def completion(self, prompt: list[int], tokens: int) -> dict[str, Any]:
        """Answer a prompt of token ids, and count; whole blocks of a prompt that came before are from the cache."""
        server = self.server
        with server.lock:
            server.running += 1
        time.sleep(server.pause)
        with server.lock:
            whole = len(prompt) // server.block - 1
            known = max(0, whole) * server.block if tuple(prompt) in server.seen else 0
            server.seen.add(tuple(prompt))
            server.running -= 1
            server.hits += known
            server.prompts += len(prompt)
            server.generated += tokens
            server.finished += 1
        return {
            "choices": [{"text": "a" * tokens, "finish_reason": "length"}],
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": tokens,
                "prompt_tokens_details": {"cached_tokens": known},
            },
        }

    def events(self, events: list[str], pause: float = 0.0) -> None:
        self.begin(chunked=False)
        self.wfile.write(b": keep-alive\n\n")
        for event in events:
            self.wfile.write(f"data: {event}\r\n\r\n".encode())
            self.wfile.flush()
            time.sleep(pause)


def tool(arguments: Any, name: str = "get_time") -> dict[str, Any]:
    """Return an answer with one tool call."""
    call = {"function": {"name": name, "arguments": arguments}}
    return {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}


__all__ = ["BLOCK", "KEY", "MODEL", "ROOT", "Fake", "Handler", "running", "tool"]
