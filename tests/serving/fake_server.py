"""A server that answers as vLLM does, and can be told to answer wrongly in one place."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL, ROOT, KEY = "qwen3.8-27b", "/models/q", "sk-do-not-show-me"


class Fake(ThreadingHTTPServer):
    """The server. `wrong` maps a path (v1__models for /v1/models, stream for a streamed
    completion) to what it does there instead: an answer, or a function that gives one; `asked` is what came."""

    daemon_threads = True

    def __init__(self, key: str | None = None, **wrong: Any) -> None:
        self.key, self.wrong = key, {"/" + name.replace("__", "/"): value for name, value in wrong.items()}
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Fake

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.respond({})

    def do_POST(self) -> None:
        self.respond(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def respond(self, body: dict[str, Any]) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        wrong = self.server.wrong.get("/stream" if body.get("stream") else self.path)
        if callable(wrong):
            wrong(self, body)
        elif wrong is not None:
            self.send(*wrong)
        elif (
            self.path != "/health" and self.server.key and self.headers["Authorization"] != f"Bearer {self.server.key}"
        ):
            self.send(401, {"error": "Unauthorized"})
        elif self.path == "/health":
            self.send(200, b"")
        elif self.path == "/v1/models":
            self.send(200, {"data": [{"id": MODEL, "root": ROOT, "max_model_len": 2048}]})
        elif body.get("stream"):
            self.events([json.dumps({"choices": [{"text": "a"}]}), json.dumps({"choices": [{"text": "b"}]}), "[DONE]"])
        elif self.path == "/v1/completions":
            self.send(200, {"choices": [{"text": "abc"}], "usage": {"completion_tokens": 3}})
        else:
            self.send(200, tool('{"city": "Rome"}'))

    def send(self, status: int, content: Any, kind: str = "application/json") -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events: list[str], pause: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.end_headers()
        self.wfile.write(b": keep-alive\n\n")
        for event in events:
            self.wfile.write(f"data: {event}\r\n\r\n".encode())
            self.wfile.flush()
            time.sleep(pause)


def tool(arguments: Any, name: str = "get_time") -> dict[str, Any]:
    """Return an answer with one tool call."""
    return {"choices": [{"message": {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}}]}


@contextmanager
def running(server: Fake) -> Iterator[Fake]:
    """Serve until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
