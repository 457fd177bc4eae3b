"""A server that is silent, or that says numbers which are none, makes a finding and never an error of ours."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resolver.measure import metrics, server, session, traffic
from resolver.measure.journal import Journal
from resolver.measure.server import NotMeasurable, Server
from resolver.measure.server_address import from_url
from resolver.measure.session import Wish
from resolver.serving.client import LARGEST, Client, count
from tests.measure.fake_server import MODEL, FakeServer, Handler, running

NUMBERS = ("null", "[]", "{}", "true", '"7"', "NaN", "Infinity", "-Infinity", "1e999", "-1", "0", "1.5", "1" + "0" * 400, "9" * 5000)  # fmt: skip
FIELDS: dict[str, tuple[str, ...]] = {
    "prompt_tokens": ("conversations", "ttft", "decode"),
    "completion_tokens": ("ttft", "decode"),
    "cached_tokens": ("conversations", "ttft"),
    "count": ("prefill",),
    "logprob": ("perplexity",),
    **dict.fromkeys(("max_model_len", "id", "root", "version"), ("tool-call",)),
}
"""A field of the answers -> the tools that read it."""
COUNTERS = ("1e999", "-inf", "NaN", "inf", "-1", "1e308", "1e17", "0x10", "")
SAMPLES = (*metrics.NAMES.values(), metrics.RUNNING, metrics.WAITING, metrics.BOOT, metrics.PER_POSITION, metrics.CACHE)


class Hostile(Handler):
    """Puts a text in the place of one field, wherever it stands in what it sends; or changes its page of counters."""

    field, said = "", ""
    sample = ""
    silent = ""

    def changed(self, data: str) -> str:
        def put(found: Any) -> Any:
            if isinstance(found, dict):
                return {name: "@@" if name == Hostile.field else put(one) for name, one in found.items()}
            return [put(one) for one in found] if isinstance(found, list) else found

        try:
            return json.dumps(put(json.loads(data))).replace('"@@"', Hostile.said)
        except ValueError:
            return data

    def send(self, status: int, content: Any, kind: str = "application/json") -> None:
        text = content.decode() if isinstance(content, bytes) else json.dumps(content)
        if self.path == Hostile.silent:
            time.sleep(2)
        if self.path == "/metrics":
            lines = text.splitlines()
            text = "\n".join(
                f"{line.rpartition(' ')[0]} {Hostile.said}" if Hostile.sample and line.startswith(Hostile.sample) else line
                for line in lines
            )  # fmt: skip
        with contextlib.suppress(ConnectionError):  # the client did not wait
            super().send(status, self.changed(text).encode(), kind)

    def event(self, data: str) -> None:
        with contextlib.suppress(ConnectionError):
            super().event(self.changed(data))


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.setattr(traffic, "SETTLE", 0.0)
    Hostile.field = Hostile.said = Hostile.sample = Hostile.silent = ""
    with running(FakeServer()) as found:
        found.RequestHandlerClass = Hostile
        yield found


def measured(found: FakeServer, folder: Path, *tools: str) -> str:
    """Measure; what is said, which JSON can hold."""
    text = folder / "text.txt"
    text.write_text("All the lines of a text. " * 9)
    wish = Wish(tools, (600,), repeats=1, answer=9, texts=(text,))
    try:
        done = session.run(found.server(), wish, Journal())
    except NotMeasurable as error:
        return f"{error.message}: {error.fix}"
    return json.dumps(done.as_json(), allow_nan=False)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_holds_something_else(hostile: FakeServer, tmp_path: Path, field: str) -> None:
    Hostile.field = field
    for Hostile.said in NUMBERS:
        said = measured(hostile, tmp_path, *FIELDS[field])
        if field != "version":
            assert "None" not in said, Hostile.said


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_counter_that_is_none(hostile: FakeServer, tmp_path: Path, sample: str) -> None:
    Hostile.sample = sample
    for Hostile.said in COUNTERS:
        measured(hostile, tmp_path, "decode")
    measured(hostile, tmp_path, "conversations", "ttft", "prefill", "perplexity")


def test_labels_that_are_no_numbers() -> None:
    page = f'{metrics.PER_POSITION}{{position="@"}} 1\n{metrics.CACHE}{{block_size="@"}} 1\n'
    for text in ("9" * 5000, "\u00b2", "-1", "", "x", "1e3"):
        found = metrics.parse(page.replace("@", text))
        assert (found.width, found.block) == (0, None)
    found = metrics.parse(page.replace("@", "16"))
    assert (found.width, found.block) == (17, 16)


def test_what_counts() -> None:
    assert [count(value) for value in (0, 7, LARGEST)] == [0, 7, LARGEST]
    for value in (True, -1, LARGEST + 1, 10**400, 1.0, "1", None, [], {}, float("nan"), float("inf")):
        assert count(value) is None


def test_entries_without_a_name_are_no_models(hostile: FakeServer) -> None:
    Hostile.field = "data"
    for Hostile.said in ("[{}]", '[{"id": null}]', '[{"id": 7}]', "[null]", "{}", "null", '[{"id": ""}]'):
        with pytest.raises(NotMeasurable, match="serves no model"):
            from_url(f"127.0.0.1:{hostile.port}", None)
        with pytest.raises(NotMeasurable, match=f"does not serve {MODEL}: it serves nothing"):
            hostile.server().identity()


@pytest.mark.parametrize("path", ["/v1/models", "/version", "/metrics"])
def test_a_server_that_is_silent_at_one_place(hostile: FakeServer, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.SOON <= 15
    monkeypatch.setattr(server, "SOON", 0.3)
    Hostile.silent = path
    began = time.monotonic()
    if path == "/v1/models":
        with pytest.raises(NotMeasurable, match=r"no answer within 0\.3 s"):
            hostile.server(server.WAIT).identity()
        with pytest.raises(NotMeasurable, match=r"no answer within 0\.3 s"):
            from_url(f"127.0.0.1:{hostile.port}", None)
    else:
        found = hostile.server(server.WAIT).identity()
        assert (found.model, found.boot > 0) == (MODEL, path != "/metrics")
    assert time.monotonic() - began < 1.9


def test_a_port_that_takes_a_connection_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SOON", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(NotMeasurable, match="nobody answers"):
            from_url(f"127.0.0.1:{port}", None)
        with pytest.raises(NotMeasurable, match="nobody answers"):
            Server(Client("127.0.0.1", port, None, server.WAIT), "m").identity()
        assert time.monotonic() - began < 5
