"""Values: literals, integer arithmetic, names and templates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.coercions import gib_bytes, loopback, number, read
from resolver.compile import helpers
from resolver.compile.helpers import HELPERS
from resolver.diagnostics import Position, RulesError
from resolver.expressions import Const, Expression, Name, Operation, Template, read_expression
from tests.matrix.reference import operate

HERE = Position("f", 1, 1)


def value(text: str) -> object:
    def walk(e: Expression) -> object:
        if isinstance(e, Const):
            return e.value
        assert isinstance(e, Operation)
        name = {"+": "add", "-": "sub", "*": "mul", "//": "div"}.get(e.operator, e.operator)
        return HELPERS[f"_op_{name}"](*map(walk, e.arguments))

    return walk(read_expression(text, HERE))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("= 7 // 2", 3), ("= -7 // 2", -3), ("= 7 // -2", -3), ("= -7 // -2", 3), ("= 1 // 0", None), ("= -1 // 2", 0), ("= 2 + 3 * 4", 14), ("= (2 + 3) * 4", 20),
        ("= 10 - 3 - 2", 5), ("= min(3, 1, 2)", 1), ("= max(3, 1, 2)", 3), ("= ceil_div(7, 2)", 4), ("= ceil_div(8, 2)", 4), ("= ceil_div(-7, 2)", -3), ("= ceil_div(1, 0)", None),
        ("= ceil_div(1, -2)", None), ("= --5", 5), ("= 8 // 3 * 3", 6),
    ],
)  # fmt: skip
def test_arithmetic(text: str, wanted: object) -> None:
    assert value(text) == wanted


@given(
    st.sampled_from(["+", "-", "*", "//", "min", "max", "ceil_div"]),
    st.lists(
        st.one_of(st.integers(), st.integers(-9, 9), st.none(), st.text(max_size=2), st.booleans()),
        min_size=2,
        max_size=2,
    ),
)
def test_total_and_as_the_reference_says(operator: str, numbers: list[object]) -> None:
    name = {"+": "add", "-": "sub", "*": "mul", "//": "div"}.get(operator, operator)
    assert HELPERS[f"_op_{name}"](*numbers) == operate(operator, numbers)


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        found = read_expression(f"={text}", HERE)
    except RulesError:
        return
    assert isinstance(found, (Const, Name, Operation, Template))


def test_templates() -> None:
    assert read_expression("= {root}/models/{name}", HERE) == Template((Name("root"), "/models/", Name("name")))
    assert read_expression("=x", HERE) == Name("x")
    assert read_expression("x", HERE) == Const("x")
    assert read_expression(None, HERE) == Const(None)
    assert HELPERS["_join"]("a", None) is None
    assert HELPERS["_join"]("a", 1, True) == "a1true"


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(["8.6", "12.0", "0.31.0", "0.31", "x", "8", "", ".", "8.", "9" * 20 + ".1"]),
    st.text(max_size=4),
)


@given(VALUES, VALUES)
def test_comparisons_are_total_and_consistent(a: object, b: object) -> None:
    less, equal_or_less, more, equal_or_more = (f(a, b) for f in (helpers._lt, helpers._le, helpers._gt, helpers._ge))
    assert not (less and more)
    assert less <= equal_or_less
    assert more <= equal_or_more
    assert helpers._lt(b, a) == more
    if a is None or b is None:
        assert not any((less, equal_or_less, more, equal_or_more))


@pytest.mark.parametrize(
    ("a", "b"), [("8.6", "8.10"), ("9.0", "12.0"), ("0.28.0", "0.31.0"), ("0.31", "0.31.1"), (8, "8.6"), (7, 8)]
)
def test_versions_compare_as_numbers(a: object, b: object) -> None:
    assert helpers._lt(a, b)
    assert not helpers._lt(b, a)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("8192", 8192),
        ("0", 0),
        ("08192", None),
        ("64k", None),
        ("auto", None),
        ("-1", None),
        ("1_000", None),
        ("٣", None),
        ("", None),
        ("1\n", None),
        ("9" * 19, None),
    ],
)
def test_number(text: str, wanted: int | None) -> None:
    assert number(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1", 2**30),
        ("0.5", 2**29),
        (".5", 2**29),
        ("2.", 2**31),
        ("1.2.3", None),
        (".", None),
        ("", None),
        ("-1", None),
        ("1e3", None),
        ("٣", None),
    ],
)
def test_gib_bytes(text: str, wanted: int | None) -> None:
    assert gib_bytes(text) == wanted


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("127.0.0.1", True),
        ("127.1", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("127.example.org", False),
        ("127.", False),
    ],
)
def test_loopback(host: str, wanted: bool) -> None:
    assert loopback(host) is wanted


@given(st.sampled_from(["number", "gib_bytes", "loopback", "length"]), VALUES)
def test_readings_are_total(reading: str, value: object) -> None:
    read(reading, value)
