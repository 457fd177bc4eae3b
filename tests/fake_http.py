"""What every stand-in for a vLLM server is: an HTTP server of this machine, whole answers, streams, a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

MODEL, ROOT, KEY = "qwen3.8-27b", "/models/q", "sk-do-not-show-me"
T = TypeVar("T", bound=ThreadingHTTPServer)


class FakeHTTP(ThreadingHTTPServer):
    """A server whose threads end with the test. `key`: what it wants to be asked with."""

    daemon_threads = True
    request_queue_size = 64
    key: str | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])


class FakeHandler(BaseHTTPRequestHandler):
    """The HTTP of one request."""

    server: FakeHTTP

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def body(self) -> dict[str, Any]:
        """What was posted."""
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def has_key(self) -> bool:
        """Whether the request has the key, where one is wanted."""
        return not self.server.key or self.headers["Authorization"] == f"Bearer {self.server.key}"

    def send(self, status: int, content: Any, kind: str = "application/json") -> None:
        """Send a whole answer: bytes as they are, anything else as JSON."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin(self, chunked: bool = True) -> None:
        """Start a stream that ends with the connection."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True


@contextmanager
def running(server: T) -> Iterator[T]:
    """Serve until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
