"""YAML 1.2 core scalars, and where things stand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.diagnostics import Diagnostic, RulesError
from resolver.yaml12 import parse

SCALARS = [
    ("on", "on"), ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"), ("On", "On"), ("true", True), ("True", True), ("TRUE", True), ("tRUE", "tRUE"), ("false", False),
    ("null", None), ("~", None), ("Null", None), ("nULL", "nULL"), ("''", ""), ("'null'", "null"), ('"true"', "true"), ("'1'", "1"),
    ("1", 1), ("-1", -1), ("+1", 1), ("010", 10), ("0o10", 8), ("0x1F", 31), ("-0x1F", "-0x1F"), ("0b1", "0b1"), ("1_000", "1_000"), ("1:30", "1:30"), ("2026-12-01", "2026-12-01"),
    ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("1E-3", 0.001), ("-.5", -0.5), (".", "."), ("e3", "e3"), ("8.6", 8.6), ("0.31.0", "0.31.0"), ("=", "="), ("= a + b", "= a + b"),
]  # fmt: skip


@pytest.mark.parametrize("ending", ["\n", " # é\n"], ids=["libyaml", "plain"])
@pytest.mark.parametrize(("text", "wanted"), SCALARS, ids=[s[0] for s in SCALARS])
def test_scalars(text: str, wanted: object, ending: str) -> None:
    found = parse(f"k: {text}{ending}", "f").data["k"]
    assert found == wanted
    assert type(found) is type(wanted)


def test_very_long_number_stays_text() -> None:
    assert parse("k: " + "9" * 5000, "f").data["k"] == "9" * 5000
    assert parse("k: 1e400", "f").data["k"] == math.inf


@pytest.mark.parametrize("tail", ["", "# é\n"], ids=["libyaml", "plain"])
def test_positions(tail: str) -> None:
    document = parse("a:\n  b: [1, {c: 2}]\n  1: x\n'on': y\n" + tail, "f")
    at = {
        "a": document.position(("a",)),
        "a key": document.position(("a",), key=True),
        "c": document.position(("a", "b", 1, "c")),
        "c key": document.position(("a", "b", 1, "c"), key=True),
        "1": document.position(("a", "1")),
        "on": document.position(("on",), key=True),
        "nowhere": document.position(("a", "b", 7, "x")),
        "root": document.position(),
    }
    assert {k: (p.line, p.column) for k, p in at.items()} == {
        "a": (2, 3), "a key": (1, 1), "c": (2, 14), "c key": (2, 11), "1": (3, 6), "on": (4, 1), "nowhere": (2, 6), "root": (1, 1),
    }  # fmt: skip


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    found: list[Diagnostic] = []
    try:
        parse(text, "f")
    except RulesError as error:
        found += error.diagnostics
    assert all(d.position and d.position.line >= 1 and d.position.column >= 1 for d in found)


@given(st.text(st.sampled_from("ab:- \n'\"[]{}#,&*!|>%@`~1.0\t"), max_size=40))
def test_both_readers_agree(text: str) -> None:
    """What libyaml reads, the plain reader reads in the same way; a comment in another script selects the plain one."""

    def outcome(t: str) -> object:
        try:
            return parse(t, "f").data
        except RulesError:
            return "refused"

    quick, plain = outcome(text), outcome(text + "\n# é")
    assert "refused" in (quick, plain) or repr(quick) == repr(plain)
