"""A server that sends the key back, in whatever place and writing, gives it to nobody: no view, file or message has it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from resolver.cli.dispatch import main
from resolver.cli.start import guarded
from resolver.measure import traffic
from resolver.measure.server import NotMeasurable, Server
from resolver.serving.client import BadAnswer, Client
from resolver.serving.echo import hide
from resolver.serving.secrets import Secret
from tests.measure.fake_server import KEY, FakeServer, Handler, running

ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)
WAYS = {
    "plain": lambda body: body,
    "escaped": lambda body: body.replace(KEY, ESCAPED),
    "twice": lambda body: json.dumps({"error": body.replace(KEY, ESCAPED)}),
}
PLACES = ("models", "models-500", "root", "id", "version", "metrics", "tokenize", "tokenize-500", "chat-500", "type")
PLACES += ("event", "garbage", "text", "split", "reasoning", "arguments", "name", "logprobs")
TOOLS = ("tool-call", "ttft", "conversations", "perplexity")


class Echo(Handler):
    """Sends the key back at one place, written in one way."""

    place, way = "", "plain"

    def at(self, place: str) -> bool:
        return Echo.place == place

    def at_answer(self) -> bool:
        return Echo.place in ("event", "garbage", "text", "split", "reasoning", "arguments", "name")

    def raw(self, status: int, content: Any, kind: str = "application/json") -> None:
        super().send(status, WAYS[Echo.way](json.dumps(content)).encode(), kind)

    def do_GET(self) -> None:
        echo = {"detail": f"denied: {dict(self.headers)}"}
        model = {"id": "q", "root": "/r", "max_model_len": self.server.longest}
        if self.path == "/v1/models" and self.at("models"):
            self.raw(403, echo)
        elif self.path == "/v1/models" and self.at("models-500"):
            self.raw(500, echo)
        elif self.path == "/v1/models" and self.at("root"):
            self.raw(200, {"data": [{**model, "root": f"/models/{KEY}"}]})
        elif self.path == "/v1/models" and self.at("id"):
            self.raw(200, {"data": [{**model, "id": f"of-{KEY}"}]})
        elif self.path == "/version" and self.at("version"):
            self.raw(200, {"version": KEY})
        elif self.path == "/metrics" and self.at("metrics"):
            page = self.server.metrics().replace('{block_size="', f'{{gpu_memory_utilization="{KEY}",block_size="')
            super().send(200, page.encode(), "text/plain")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body, path = json.loads(raw), self.path
        echo = {"error": {"message": f"wrong: {self.headers['Authorization']}"}}
        if path == "/tokenize" and self.at("tokenize"):
            self.raw(200, echo)
        elif self.at("tokenize-500" if path == "/tokenize" else "chat-500"):
            self.raw(500, echo)
        elif path != "/tokenize" and self.at("type"):
            super().send(200, b"{}", f"text/{KEY}")
        elif "prompt_logprobs" in body and self.at("logprobs"):
            self.raw(400, echo)
        elif "messages" in body and not body.get("stream") and self.at("arguments"):
            call = {"function": {"name": "get_time", "arguments": json.dumps({"city": KEY})}}
            self.raw(200, {"choices": [{"message": {"tool_calls": [call]}}]})
        elif body.get("stream") and self.at_answer():
            self.answer(echo)
        else:
            self.rfile = io.BytesIO(raw)
            super().do_POST()

    def answer(self, echo: Any) -> None:
        half = len(KEY) // 2
        deltas: list[dict[str, Any]] = {
            "text": [{"content": f"It is {KEY}."}],
            "split": [{"content": f"It is {KEY[:half]}"}, {"content": f"{KEY[half:]}."}],
            "reasoning": [{"reasoning": KEY[:half]}, {"reasoning": KEY[half:]}],
            "arguments": [
                {"tool_calls": [{"index": 0, "function": {"name": "get_time", "arguments": f'{{"city": "{KEY[:half]}'}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": f'{KEY[half:]}"}}'}}]},
            ],
            "name": [{"tool_calls": [{"index": 0, "function": {"name": KEY, "arguments": "{}"}}]}],
        }.get(Echo.place, [{"content": "a"}])  # fmt: skip
        self.begin()
        if self.at("event"):
            self.event(WAYS[Echo.way](json.dumps(echo)))
        if self.at("garbage"):
            self.event(f"not JSON: {KEY}")
        for delta in deltas:
            self.event(WAYS[Echo.way](json.dumps({"choices": [{"delta": delta}]})) if Echo.way != "twice" else
                       WAYS["escaped"](json.dumps({"choices": [{"delta": delta}]})))  # fmt: skip
        self.event(json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(deltas)}}))
        self.event("[DONE]")


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_is_shown_or_written_has_the_key(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    monkeypatch.setattr(traffic, "SETTLE", 0.0)
    text = tmp_path / "text.txt"
    text.write_text("All the lines of a text. " * 40)
    ledger = tmp_path / "ledger.jsonl"
    out = ""
    with running(FakeServer(key=KEY)) as server:
        server.RequestHandlerClass = Echo
        Echo.place = place
        for Echo.way in WAYS if place not in ("metrics", "type", "garbage") else ("plain",):
            words = ["measure", "--url", f"127.0.0.1:{server.port}", *TOOLS, "--contexts", "600", "--repeats", "1"]
            words += [
                "--text",
                str(text),
                "--resume",
                str(tmp_path / f"{Echo.way}.jsonl"),
                "--ledger",
                str(ledger),
                "--answer",
                "8",
            ]
            words += ["--json"] if Echo.way == "plain" else ["--verbose"]
            assert guarded(lambda words=words: main(words)) in (0, 1)  # type: ignore[misc]
            said = capfd.readouterr()
            assert "internal error" not in said.err
            out += said.out + said.err
    files = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    assert KEY not in out + files
    assert ESCAPED not in out + files
    assert ESCAPED.replace("\\", "\\\\") not in out + files
    if place not in ("metrics", "tokenize"):  # where it is looked at, it was there, and is hidden
        assert "***" in out + files


@pytest.mark.parametrize("key", [KEY, 'sk-"quoted"\\back', "sk-<a>&'b'", "sk-\u00e9t\u00e9-secret", "a b+c/d=e%f"])
def test_every_writing_of_a_key_is_hidden(key: str) -> None:
    import html
    from urllib.parse import quote, quote_plus

    secret = Secret(key)
    for written in (key, repr(key), json.dumps(key), html.escape(key), quote(key, safe=""), quote_plus(key)):
        for text in (written, f"Bearer {written}.", json.dumps({"a": [written], written: 1}), json.dumps(f'{{"a": {written}}}')):  # fmt: skip
            found = hide(text, secret)
            assert "***" in found, text
            assert key not in found


def test_a_text_without_the_key_is_as_it_was() -> None:
    for text in ("", "***", '{"a": "\\n", "b": 1.50}', "\\", '{"a": NaN}', "[" * 50):
        assert hide(text, Secret(KEY)) is text
        assert hide(text, None) is text
    assert hide("the key is EMPTY", Secret("EMPTY")) == "the key is EMPTY"


def test_a_nest_without_end_is_no_answer() -> None:
    with running(FakeServer(key=KEY)) as server:
        client = Client("127.0.0.1", server.port, Secret(KEY), 5.0)
        for nest in ("[", '{"a":', '["\\n",'):
            Nest.body = (nest * 100_000).encode()
            server.RequestHandlerClass = Nest
            with pytest.raises(BadAnswer):
                client.post("/tokenize", {})
            with pytest.raises(NotMeasurable, match="does not say which models"):
                Server(client, "q").identity()


class Nest(Handler):
    """Answers everything with one body."""

    body = b""

    def do_GET(self) -> None:
        self.send(200, self.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send(200, self.body)


def test_a_model_whose_name_has_the_key_is_still_found() -> None:
    with running(FakeServer(key="qwen3.8")) as server:
        found = server.server().identity()
    assert (found.model, found.max_model_len) == ("qwen3.8-27b", 4096)
