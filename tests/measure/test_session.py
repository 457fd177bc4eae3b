"""Checks come first, and where one fails no speed is recorded."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from resolver.diagnostics import UsageError
from resolver.measure import session
from resolver.measure.journal import Journal
from resolver.measure.session import Wish
from tests.measure.fake_server import FakeServer, Faults, Handler, running

QUICK = Wish(contexts=(600,), repeats=2, answer=31)


class Mute(Handler):
    """Calls no tool."""

    def call(self, body: dict[str, Any]) -> None:
        self.send(200, {"choices": [{"message": {"content": "No."}}]})


def test_the_order_is_always_the_same() -> None:
    assert Wish(("decode", "tool-call", "residues")).chosen() == ("tool-call", "residues", "decode")
    assert Wish().chosen() == session.USUAL
    assert Wish(texts=(Path("a"),)).chosen() == ("tool-call", "needle", "perplexity", *session.USUAL[2:])


def test_a_good_server() -> None:
    with running(FakeServer()) as server:
        done = session.run(server.server(), QUICK)
    assert [report.verdict for report in done.reports] == ["clean"] * 6, done
    assert done.broken == ()
    data = done.as_json()
    assert data["server"]["version"] == "0.31.0"
    assert [report["tool"] for report in data["reports"]] == list(session.USUAL)


def test_speeds_of_a_server_whose_answers_are_wrong_are_not_sound() -> None:
    with running(FakeServer()) as server:
        server.RequestHandlerClass = Mute
        done = session.run(server.server(), dataclasses.replace(QUICK, tools=("tool-call", "decode")))
    assert done.broken == ("tool-call",)
    numbers = done.reports[1].measurements
    assert numbers
    assert not any(one.sound for one in numbers)
    assert numbers[0].notes[-1] == "tool-call is broken: no tool was called"


def test_a_server_without_tokenize_gives_findings_not_errors() -> None:
    with running(FakeServer(Faults(no_tokenize=True))) as server:
        done = session.run(server.server(), QUICK)
    assert [report.verdict for report in done.reports] == ["clean"] + ["inconclusive"] * 5
    assert "does not count tokens" in done.reports[-1].findings[0].reason


def test_the_usual_contexts_are_those_that_fit() -> None:
    with running(FakeServer()) as server:
        done = session.run(server.server(), Wish(("prefill",), repeats=1))
    assert {one.conditions["context"] for one in done.reports[0].measurements} == {1000}


def test_pieces_of_two_boots_are_told_of() -> None:
    journal = Journal()
    journal.boots = {1.0}
    journal.boot = 2.0
    with running(FakeServer()) as server:
        done = session.run(server.server(), dataclasses.replace(QUICK, tools=("prefill",)), journal)
    assert done.reports[0].measurements[0].notes[-1] == "measured on 2 boots of the server"


def test_a_file_that_cannot_be_read_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    wishes = (Wish(("tool-call",), texts=(tmp_path / "a",)), Wish(("tool-call",), questions=tmp_path / "b"))
    with running(FakeServer()) as server:
        for wish in wishes:
            with pytest.raises(UsageError, match="cannot be read"):
                session.run(server.server(), wish)
        assert server.asked == []


def test_warnings_come_before_the_requests(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("The gate opens at noon. " * 100)
    said: list[str] = []
    with running(FakeServer()) as server:
        done = session.run(server.server(), Wish(("perplexity",), texts=(path,)), say=said.append)
    assert done.reports[0].verdict == "clean"
    assert said == ["perplexity: prompt log-probabilities need about 300 MB beside what the engine planned"]
