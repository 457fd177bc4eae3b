"""A stand-in for `vllm serve`: it logs like one, answers like one, and fails as the variable FAKE says.

The tests put it at <venv>/bin/vllm. FAKE is one of: good (also the default), silent (never up), dies, dies-quietly,
bad-completions, stubborn (never up, ignores SIGTERM), stubborn-server (up, ignores it), stops-slowly, never-hits (no prefix
cache), dead-inside (up, then its core is dead), leaves (a daemon that ignores SIGTERM, a file in shared memory and a socket).
VLLM_FAKE wins: it is kept with a launch that is started again. FAKE_LOG is logged first; FAKE_PIDS names a file for the
process ids.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from http.server import ThreadingHTTPServer

from tests.serving import fake_server

FRONT = "(EngineCore pid=7) INFO 12-01 10:07:05 [core.py:129] "
BOOT = (
    "Initializing a V1 LLM engine (v0.31.0)",
    "Starting to load model /m...",
    "Loading weights took 0.00 seconds",
    "CPU KV cache size: 2,097,152 tokens",
    "Starting vLLM server on http://127.0.0.1:1",
)


def say(text: str) -> None:
    print(FRONT + text, file=sys.stderr, flush=True)


def note_pid() -> None:
    if "FAKE_PIDS" in os.environ:
        with open(os.environ["FAKE_PIDS"], "a", encoding="utf-8") as out:
            out.write(f"{os.getpid()}\n")


def daemon() -> None:
    """Become a process of its own that does not want to end, with a file and a socket, and orphaned."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    name = os.environ["FAKE_SHM"]
    handle = os.open(f"/dev/shm/{name}", os.O_CREAT | os.O_RDWR)
    os.ftruncate(handle, 4096)
    kept = mmap.mmap(handle, 4096)
    os.close(handle)
    os.rename(f"/dev/shm/{name}", f"/dev/shm/{name}_renamed")  # as a semaphore is, once it is mapped
    os.link(f"/dev/shm/{name}_renamed", f"/dev/shm/{name}")
    os.unlink(f"/dev/shm/{name}_renamed")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.join(tempfile.gettempdir(), str(uuid.uuid4())))
    note_pid()
    while kept:
        time.sleep(60)


class Server(fake_server.Fake):
    """The fake server, on the address that was asked for."""

    def __init__(self, host: str, port: int, key: str | None, **wrong: object) -> None:
        self.key, self.wrong = key, {"/" + name.replace("__", "/"): value for name, value in wrong.items()}
        self.asked = []
        self.counts()
        ThreadingHTTPServer.__init__(self, (host, port), fake_server.Handler)


def main() -> None:
    note_pid()
    how = os.environ.get("VLLM_FAKE") or os.environ.get("FAKE", "good")
    words = sys.argv
    fake_server.ROOT = words[2]
    print(
        os.environ.get("FAKE_LOG", "(APIServer pid=1) INFO 12-01 10:06:45 [api_utils.py:286] non-default args: {}"),
        flush=True,
    )
    if how == "dies":
        sys.exit(3)
    if how == "dies-quietly":
        sys.exit(0)
    if how.startswith("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if how == "stops-slowly":
        signal.signal(signal.SIGTERM, lambda *_: (time.sleep(2), os._exit(0)))
    if how == "leaves":
        daemon()
    if how in ("silent", "stubborn"):
        time.sleep(600)
    for line in BOOT:
        say(line)
    wrong = {"v1__completions": (500, {"error": "EngineCore encountered an issue"})} if how == "bad-completions" else {}
    place = words[words.index("--host") + 1], int(words[words.index("--port") + 1])
    server = Server(*place, os.environ.get("VLLM_API_KEY"), **wrong)
    server.pause = 0.05
    if how == "never-hits":
        server.block = 1 << 20
    if how == "dead-inside":
        threading.Timer(1.0, lambda: say("EngineCore encountered a fatal error.")).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
