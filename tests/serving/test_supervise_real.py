"""The CPU engine under `launch.py serve`: it is ready and answers, and killed at any moment it leaves nothing.

`make engine` installs it; CPU_ENGINE_VENV names another place.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serving.serving_cli import REPO, Serve, runs, shared, until
from tools.cpu_engine import install, tiny_model

VENV = Path(os.environ.get("CPU_ENGINE_VENV") or REPO / "venv-cpu")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not install.is_installed(VENV), reason=f"no CPU engine in {VENV}: run `make engine`"),
    pytest.mark.timeout(600),
]
BOOT = 400.0  # seconds; 25 on a quiet machine, 100 where others work too
KEY = "sk-of-the-real-engine"
Start = Callable[..., Serve]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server; afterwards nothing of it may be left: no process, no shared memory, no temporary file."""
    model = tmp_path / "tiny"
    tiny_model.make(model)
    started: list[Serve] = []
    trees: set[int] = set()

    def begin(*words: str, **variables: str) -> Serve:
        serve = Serve(tmp_path, VENV, *words, MODEL=str(model), VLLM_NO_USAGE_STATS="1", **variables)
        serve.seen = trees  # type: ignore[attr-defined]
        started.append(serve)
        return serve

    before = shared()
    yield begin
    for serve in started:
        if serve.process.poll() is None:
            trees |= set(serve.tree())
            serve.process.kill()
            serve.process.wait()
    assert trees, "a test notes the processes that it saw"
    assert until(lambda: not any(map(runs, trees)), 40), "processes are left"
    assert until(lambda: shared() <= before, 10), f"files are left: {shared() - before}"
    for serve in started:
        assert until(lambda serve=serve: not serve.left(), 10), f"files are left: {serve.left()}"
        shutil.rmtree(serve.temporary)


def kill(serve: Serve, number: int, at_least: int) -> None:
    """Signal the launcher once its processes are noted; at least so many there must be."""
    tree = serve.tree()
    serve.seen.update(tree)  # type: ignore[attr-defined]
    assert len(tree) >= at_least, f"{tree}: {serve.said()}"
    serve.signal(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_while_the_engine_is_imported(start: Start, number: int) -> None:
    serve = start()
    serve.wait_for("importing the engine")
    assert until(lambda: any(b"vllm" in Path(f"/proc/{p}/cmdline").read_bytes() for p in serve.tree()))
    kill(serve, number, 2)
    assert serve.end() == (143 if number == signal.SIGTERM else -9)


def test_killed_while_the_model_is_loaded(start: Start) -> None:
    serve = start()
    serve.wait_for("loading the model", BOOT)
    kill(serve, signal.SIGKILL, 4)
    serve.end()


def test_answers_and_is_killed_while_it_streams(start: Start) -> None:
    serve = start("--ask", "Hello", VLLM_API_KEY=KEY)
    serve.wait_for("ready: qwen3.8-27b on http://127.0.0.1:", BOOT)
    said = serve.said()
    for check in (
        "identity: qwen3.8-27b",
        "completion: ",
        "streamed completion: ",
        "tool call: get_time(",
        "key required: 401",
    ):
        assert check in said
    assert until(lambda: serve.out.read_text().strip())
    connection = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=60)
    body = {
        "model": "qwen3.8-27b",
        "prompt": "Hello",
        "max_tokens": 1500,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
    }
    connection.request(
        "POST",
        "/v1/completions",
        json.dumps(body),
        {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"},
    )
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.readline().startswith(b"data: ")
    kill(serve, signal.SIGKILL, 4)
    serve.end()
    # the engine may finish within its grace what it had begun: that it is gone afterwards is what counts, and `kill` saw it
    with contextlib.suppress(http.client.IncompleteRead):
        answer.read()
    assert KEY not in serve.said() + serve.log.read_text()
