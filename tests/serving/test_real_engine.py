"""The CPU engine itself: it boots through our exec with the tiny model, answers, and stops without a trace.

Needs the engine: `python -m tools.cpu_engine install --venv venv-cpu`, or CPU_ENGINE_VENV naming where it is.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resolver.serving.client import Client
from resolver.serving.probe import probe
from resolver.serving.ready import Target, wait_until_ready
from resolver.serving.secrets import Secret
from tools.cpu_engine import install, tiny_model

REPO = Path(__file__).resolve().parents[2]
VENV = Path(os.environ.get("CPU_ENGINE_VENV") or REPO / "venv-cpu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not install.is_installed(VENV), reason=f"no CPU engine in {VENV}: python -m tools.cpu_engine install"
    ),
]
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
USER = {"role": "user", "content": "hi"}
CALL = {"type": "function", "function": {"name": "f", "arguments": {"a": 1, "b": "x"}}}
TOKENIZER = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
asks = json.load(sys.stdin)
text = bytes(range(1, 128)).decode() + "é\\u2603<tool_call></think>"
ids = tokenizer.encode(text)
print(json.dumps({"chats": [tokenizer.apply_chat_template(a.pop("messages"), tokenize=False, add_generation_prompt=True, **a)
                            for a in asks], "same": tokenizer.decode(ids) == text, "ids": ids[-2:], "size": len(tokenizer)}))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model.make(folder)
    return folder


def test_tokenizer_and_chat_template(model: Path) -> None:
    asks = [
        {"messages": [USER]},
        {"messages": [USER], "enable_thinking": False},
        {"messages": [{"role": "system", "content": "s"}, USER]},
        {
            "messages": [
                {"role": "system", "content": "s"},
                USER,
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "content": "42"},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}],
        },
    ]
    done = subprocess.run(
        [str(VENV / "bin/python"), "-c", TOKENIZER, str(model)],
        input=json.dumps(asks),
        text=True,
        capture_output=True,
        check=True,
        env={**os.environ, **OFFLINE},
    )
    found = json.loads(done.stdout)
    assert (found["same"], found["ids"], found["size"]) == (True, [261, 260], 265)
    plain, quiet, system, tools = found["chats"]
    assert plain == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert quiet == plain + "<think>\n\n</think>\n\n"
    assert system == "<|im_start|>system\ns<|im_end|>\n" + plain
    assert tools.startswith("<|im_start|>system\ns\n\n# Tools\n")
    assert tools.count("<|im_start|>system") == 1
    assert (
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\nx\n</parameter>\n</function>\n"
        "</tool_call><|im_end|>\n"
    ) in tools
    assert tools.endswith("<tool_response>\n42\n</tool_response><|im_end|>\n<|im_start|>assistant\n")


def test_the_probe_sees_the_engine(tmp_path: Path) -> None:
    document: Any = probe(tmp_path, {**os.environ, "ENGINE_VENV": str(VENV)})
    assert document["engine"] == {"version": install.VERSION, "overlays": []}
    assert document["facts"]["device"] == "cpu"


class Server:
    """A started engine."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.url, self.process, self.log = f"http://127.0.0.1:{port}", process, log

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            self.url + path, headers={"Content-Type": "application/json", "Authorization": "Bearer sk-test"}
        )
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, data, timeout=60) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.startswith("{") else text

    def wait(self, seconds: float) -> None:
        """Wait for /health; a process that ends, or the time running out, fails with the end of the log."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            try:
                self.ask("/health")
                return
            except OSError:
                time.sleep(0.5)
        pytest.fail("the engine did not come up:\n" + "\n".join(self.log.read_text().splitlines()[-30:]))


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The engine with the product's usual flags, less what a dense model on a CPU cannot take."""
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        port = probe_socket.getsockname()[1]
    words = [
        str(VENV / "bin/vllm"),
        "serve",
        str(model),
        "--served-model-name",
        "tiny",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--max-model-len",
        "2048",
        "--max-num-seqs",
        "8",
        "--language-model-only",
        "--no-async-scheduling",
        "--max-num-batched-tokens",
        "2048",
        "--speculative-config",
        '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}',
        "--compilation-config",
        '{"max_cudagraph_capture_size":32,"custom_ops":["+rms_norm","+silu_and_mul"]}',
        "--reasoning-parser",
        "qwen3",
        "--enable-prompt-tokens-details",
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "qwen3_coder",
        "--tool-strict-level",
        "parameter",
        "--enable-prefix-caching",
        "--sse-keep-alive-interval",
        "30",
        "--enforce-eager",
    ]
    env = {
        **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ},
        **OFFLINE,
        "VLLM_API_KEY": "sk-test",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
    code = (
        "import json, sys; from pathlib import Path; from resolver.serving.launch import launch; "
        "ask = json.load(open(sys.argv[1])); launch(ask[0], ask[1], Path(sys.argv[2]))"
    )
    folder = tmp_path_factory.mktemp("run")
    (folder / "ask.json").write_text(json.dumps([words, env]))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder / "ask.json"), str(folder)],
            cwd=REPO,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = Server(port, process, folder / "log")
    try:
        started.wait(240)
        yield started
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_completion(server: Server) -> None:
    status, answer = server.ask(
        "/v1/completions", {"model": "tiny", "prompt": "hello", "max_tokens": 8, "temperature": 0}
    )
    assert status == 200
    assert answer["choices"][0]["text"] == "miClBmif"
    assert answer["usage"]["completion_tokens"] == 8


def test_tool_call(server: Server) -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "get_time",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
    _, answer = server.ask(
        "/v1/chat/completions",
        {
            "model": "tiny",
            "messages": [USER],
            "max_tokens": 200,
            "temperature": 0,
            "tools": [tool],
            "tool_choice": {"type": "function", "function": {"name": "get_time"}},
            "chat_template_kwargs": {"enable_thinking": False},
        },
    )
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])["city"] in ("Paris", "Rome")


def test_our_own_readiness_checks_pass(server: Server, model: Path) -> None:
    client = Client("127.0.0.1", int(server.url.rpartition(":")[2]), Secret("sk-test"))
    report = wait_until_ready(Target(client, "tiny", str(model)), lambda: server.process.poll() is None, 10)
    assert report.ready, report
    assert [result.name for result in report.results] == [
        "identity",
        "completion",
        "streamed completion",
        "tool call",
        "key required",
    ]


def test_ngram_speculation_and_prefix_caching_work(server: Server) -> None:
    for _ in range(2):
        server.ask("/v1/completions", {"model": "tiny", "prompt": "hello " * 60, "max_tokens": 64, "temperature": 0})
    _, metrics = server.ask("/metrics")
    for counter in ("spec_decode_num_accepted_tokens_total", "prefix_cache_hits_total"):
        line = next(line for line in metrics.splitlines() if line.startswith(f"vllm:{counter}"))
        assert float(line.split()[-1]) > 0, line


def test_sigterm_stops_it_all(server: Server) -> None:
    """The last test of the module: it stops the engine."""
    assert (
        "vllm" in Path(f"/proc/{server.process.pid}/cmdline").read_bytes().decode()
    )  # our exec left no process between
    group = members(server.process.pid)
    assert len(group) >= 3
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(timeout=60)
    until = time.monotonic() + 10
    while members(server.process.pid) and time.monotonic() < until:
        time.sleep(0.2)
    assert members(server.process.pid) == []
    assert not any(name.startswith("vllm_offload_") for name in os.listdir("/dev/shm"))


def members(group: int) -> list[int]:
    """Return the living processes of a process group."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(name))
    return found
