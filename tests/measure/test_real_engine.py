"""The measuring tools against the CPU engine with n-gram drafts, so that its own counters move.

`make engine` installs it; CPU_ENGINE_VENV names another place. The model has random weights: it copies and finds nothing, and the
tools must say exactly that, while speeds, steps, hits, lengths and traffic are the real engine's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.measure import conversations, decode, needle, perplexity, prefill, residue_sweep, tool_call, traffic, ttft
from resolver.measure.prompts import user
from resolver.measure.server import Server
from resolver.measure.settings import SpeedOptions
from resolver.serving.client import Client
from resolver.serving.secrets import Secret
from tests.serving.serving_cli import REPO, Serve
from tools.cpu_engine import install, tiny_model

VENV = Path(os.environ.get("CPU_ENGINE_VENV") or REPO / "venv-cpu")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not install.is_installed(VENV), reason=f"no CPU engine in {VENV}: run `make engine`"),
    pytest.mark.timeout(600),
]
BOOT = 400.0  # seconds; 25 on a quiet machine, 100 where others work too
KEY = "sk-of-the-real-engine"
OPTIONS = SpeedOptions(contexts=(700,), streams=(1, 2), repeats=2, answer=48, longest=2048)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with n-gram drafts, for all of these tests."""
    folder = tmp_path_factory.mktemp("engine")
    tiny_model.make(folder / "tiny")
    drafts = '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}'
    serve = Serve(
        folder,
        VENV,
        "--",
        "--no-async-scheduling",
        "--speculative-config",
        drafts,
        MODEL=str(folder / "tiny"),
        VLLM_API_KEY=KEY,
        VLLM_NO_USAGE_STATS="1",
    )
    try:
        serve.wait_for("ready: qwen3.8-27b on http://127.0.0.1:", BOOT)
        yield Server(Client("127.0.0.1", serve.port, Secret(KEY), 120.0), "qwen3.8-27b")
    finally:
        with contextlib.suppress(ProcessLookupError):
            serve.signal(signal.SIGTERM)
        serve.end(120)
        shutil.rmtree(serve.temporary, ignore_errors=True)


def test_who_it_is(server: Server) -> None:
    found = server.identity()
    assert (found.model, found.max_model_len, found.version) == ("qwen3.8-27b", 2048, install.VERSION)
    assert found.root.endswith("/tiny")
    assert found.boot > 1.7e9
    counters = server.counters()
    assert counters.there
    assert (counters.width, counters.busy) == (3, 0)
    assert counters.block


def test_the_counters_are_those_of_our_requests(server: Server) -> None:
    answers, window = traffic.watch(server, lambda: [server.chat(user("Hello"), 24, exact=True)])
    assert (answers[0].problem, answers[0].tokens) == ("", 24)
    assert window.foreign == ""
    assert window.moved["generated"] == 24
    assert window.moved["prompt_tokens"] == answers[0].prompt_tokens == server.tokens_of_chat(user("Hello"))
    assert window.moved["drafts"] > 0
    assert window.tokens_per_step
    assert 1.0 <= window.tokens_per_step <= 4.0


def test_the_traffic_of_others_is_seen(server: Server) -> None:
    def ask() -> list[object]:
        server.chat(user("Somebody else"), 8, exact=True)
        return [server.chat(user("Hello"), 8, exact=True)]

    _, window = traffic.watch(server, ask)  # type: ignore[arg-type]
    assert "the server counted 2 requests, and ours were 1" in window.foreign


def test_speeds(server: Server) -> None:
    read = prefill.run(server, OPTIONS)
    assert all(one.verdict == "clean" for one in read.findings if one.subject != "traffic"), read
    assert [one.conditions["streams"] for one in read.measurements] == [1, 2]
    assert all(one.value > 0 for one in read.measurements)
    longer = replace(OPTIONS, answer=160)
    for _ in range(
        4
    ):  # on busy cores the streams of so small a model may miss each other, which is told of and measures nothing
        written = decode.run(server, longer)
        found = next(one for one in written.findings if one.subject == "answers")
        if "at the same time" not in found.reason and "in one piece" not in found.reason:
            break
    assert found.verdict == "clean", written
    by_metric = {one.metric: one for one in written.measurements}
    assert set(by_metric) == {"decode_tok_s", "decode_stream_tok_s", "e2e_tok_s", "tokens_per_step", "step_ms"}
    assert 1.0 <= by_metric["tokens_per_step"].value <= 4.0


def test_first_token_and_conversations(server: Server) -> None:
    first = ttft.run(server, OPTIONS)
    assert first.findings[0].verdict == "clean", first
    assert [one.conditions["cache_state"] for one in first.measurements] == ["cold prompt", "prefix hit", "prefix hit"]
    turns = conversations.run(server, OPTIONS)
    assert turns.findings[0].verdict == "clean", turns


def test_checks_of_a_model_of_random_weights(server: Server, tmp_path: Path) -> None:
    called = tool_call.run(server)
    assert [one.verdict for one in called.findings[:2]] == ["clean", "clean"], called
    assert needle.run(server, OPTIONS).findings[0].verdict == "inconclusive"
    path = tmp_path / "mine.txt"
    path.write_text("The gate opens at noon, and the lamp beside it burns until the ferry has come. " * 20)
    found = perplexity.run(server, perplexity.Options((path,), windows=4))
    assert found.verdict == "clean", found
    assert 50 < found.measurements[0].value < 5000  # a byte has 265 values here, and this model knows nothing of them


def test_the_sweep_meets_all_residues_and_proves_every_hit(server: Server) -> None:
    options = residue_sweep.Options(context=300, lines=2, answer=9, longest=2048)
    finding = residue_sweep.run(server, options).findings[0]
    assert (finding.details["covered"], finding.details["served_from_cache"]) == (128, 128)
    assert finding.verdict == "inconclusive"
    assert "does not copy a text even without the cache" in finding.reason
