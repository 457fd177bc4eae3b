"""What texts of knobs mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.diagnostics import Cause, Diagnostic, Position, UsageError, short
from resolver.knobs import EMPTY, GIVEN, UNSET, KnobTable, read_text
from resolver.model import Knob
from tests.matrix import strategies
from tests.matrix.asked import product


def knob(kind: str, **more: object) -> Knob:
    return Knob("k", "K", kind, "help", Position("f", 1, 1))._replace(**more)  # type: ignore[arg-type]


GOOD: dict[str, list[tuple[str, object]]] = {
    "int": [("1", 1), ("007", 7), ("0", 0), ("9" * 18, int("9" * 18))],
    "decimal": [("0.93", "0.93"), (".5", ".5"), ("1.", "1."), ("0", "0")],
    "tokens": [("8192", 8192), ("08192", None), ("64k", None), ("64K", None), ("1.5k", None), ("auto", None), ("AUTO", None), ("8_192", None), ("+8", None), ("-1", None)],
    "switch": [("1", "on"), ("YES", "on"), ("true", "on"), ("on", "on"), ("0", "off"), ("No", "off"), ("false", "off"), ("OFF", "off")],
    "zero_one": [("0", "off"), ("1", "on")],
    "json": [("[[1,2]]", "[[1,2]]"), ("null", "null"), (" 1 ", " 1 ")],
    "text": [(" a b ", " a b "), ("é", "é")],
    "path": [("/a b", "/a b"), ("\udcff", "\udcff")],
    "secret": [("k", None)],
}  # fmt: skip
BAD = {
    "int": ["-1", "+1", "1.0", "1e3", " 1", "1 ", "1\n", "0x1", "1_0", "٣", "½", "9" * 19, "nan", "True"],
    "decimal": ["-1", "1e3", "nan", "inf", ".", "", " 1", "1,5", "٣", "1.2.3"],
    "tokens": ["_8", "1__0", "1.5K", "64kb", "4GiB", "-2", "1 k", "none", "___", "9" * 41, "0x10"],
    "switch": ["2", "y", " 1", "TrueX", "on\n"],
    "zero_one": ["on", "true", "01", "2", "1\n"],
    "json": ["{", "[1,]", "'a'", "nul", "[" * 100_000],
    "text": ["\0", "\ud800", "\udcff"],
    "path": ["\0", "\ud800", "\udfff"],
    "secret": ["\0", "k\r", " k", "a\nb"],
}


@pytest.mark.parametrize(("kind", "text", "value"), [(k, t, v) for k, pairs in GOOD.items() for t, v in pairs])
def test_good(kind: str, text: str, value: object) -> None:
    reading = read_text(knob(kind), text)
    assert (reading.state, reading.value, reading.problem) == (GIVEN, value, None)
    assert reading.text == (None if kind == "secret" else text)


@pytest.mark.parametrize(
    ("kind", "text"), [(k, t) for k, texts in BAD.items() for t in texts if t], ids=lambda x: repr(x)[:20]
)
def test_bad_counts_as_unset_and_keeps_the_default(kind: str, text: str) -> None:
    default = str(GOOD[kind][0][0]) if kind != "secret" else None
    reading = read_text(knob(kind, default=default), text)
    assert reading.state == UNSET
    assert reading.problem
    assert text not in reading.problem or len(text) < 4
    assert reading.text == default


@pytest.mark.parametrize("kind", [k for k in GOOD if k != "secret"])
def test_empty(kind: str) -> None:
    default = str(GOOD[kind][0][0])
    assert read_text(knob(kind, default=default), "").text == default
    assert read_text(knob(kind, default=default), "").state == EMPTY
    assert read_text(knob(kind, default=default, empty="value"), "").value is None


def test_bounds_and_choices() -> None:
    port = knob("int", minimum=1, maximum=65535)
    assert [read_text(port, t).state for t in ("0", "1", "65535", "65536", "00001")] == [
        UNSET,
        GIVEN,
        GIVEN,
        UNSET,
        GIVEN,
    ]
    share = knob("decimal", minimum=0, maximum=1)
    assert [read_text(share, t).state for t in ("0", "1", "1.0", "1.01")] == [GIVEN, GIVEN, GIVEN, UNSET]
    tier = knob("choice", allowed=("fast", "long"))
    assert [read_text(tier, t).state for t in ("fast", "Fast", " fast", "fas")] == [GIVEN, UNSET, UNSET, UNSET]
    assert "fast, long" in (read_text(tier, "x").fix or "")


@given(st.sampled_from(list(product().rules.knobs.values())), st.one_of(strategies.wild_texts, st.text(max_size=30)))
def test_total_and_the_same_from_memory(which: Knob, text: str) -> None:
    table = KnobTable(product().rules)
    first, second = table.read(which.name, text), table.read(which.name, text)
    assert first == second == read_text(which, text)
    assert (first.state == UNSET) == bool(first.problem)


def test_every_default_can_be_given() -> None:
    for which in product().rules.knobs.values():
        if which.default is not None:
            assert read_text(which, which.default).state == GIVEN, which.name


def test_no_secret_or_free_text_is_kept() -> None:
    table = KnobTable(product().rules)
    for which in product().rules.knobs.values():
        table.read(which.name, "sk-PLANTED")
    assert all(table.knobs[name].type not in ("secret", "words", "text", "path", "host") for name, _ in table.kept)


@pytest.mark.parametrize("text", ["key\r", "key\n", " key", "key\t", "two\nlines", "two\r\nlines"])
def test_a_secret_that_no_client_can_send_is_bad_and_is_not_shown(text: str) -> None:
    reading = read_text(knob("secret"), text)
    assert reading.problem
    assert reading.fix == "give the key alone, as one line"
    assert text not in reading.problem
    assert read_text(knob("secret"), "two words").problem is None


def test_an_overlong_value_is_cut_in_every_message() -> None:
    long = "x" * 5000
    said = Diagnostic(
        "refuse", "a", f"MODEL=/{long} is not there", f"remove /{long}", None, (Cause("MODEL", long, "a test"),)
    )
    for text in (said.message, said.fix or "", str(said.causes[0]), str(UsageError(f"no {long}"))):
        assert "(500" in text
        assert "characters)" in text
        assert len(text) < 200
    assert short("y " * 1000) == "y " * 1000
    assert short("z" * 240) == "z" * 240
