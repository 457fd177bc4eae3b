"""Splitting of EXTRA_ARGS."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.passthrough import split

CASES = [
    ("", ()),
    (" \t\n ", ()),
    ("--a b", ("--a", "b")),
    ("  --a   b  ", ("--a", "b")),
    ("--a\nb\u00a0c", ("--a", "b", "c")),
    ('--a {"x": 1, "y": "b c"} --d', ("--a", '{"x": 1, "y": "b c"}', "--d")),
    ('--a={"x": 1}', ('--a={"x": 1}',)),
    ("--a [[1, 3], [4, 5]] e", ("--a", "[[1, 3], [4, 5]]", "e")),
    ("--a '{\"x\": 1}'", ("--a", '{"x": 1}')),
    ("--a='b c' d", ("--a=b c", "d")),
    ('"a b" c', ("a b", "c")),
    ('"a \\" b"', ('a " b',)),
    ('"a \\\\"', ("a \\",)),
    ('"a \\\\" b', ("a \\", "b")),
    ("'a \\' b", ("a \\", "b")),
    ("it's fine", ("it's", "fine")),
    ("'never closed", ("'never", "closed")),
    ('{"never": closed', ('{"never":', "closed")),
    ("{x}", ("{x}",)),
    ("''", ("",)),
    ("--a ''", ("--a", "")),
    ("--a=''", ("--a=",)),
    ("$(id) `id` *", ("$(id)", "`id`", "*")),
]


@pytest.mark.parametrize(("text", "words"), CASES)
def test_split(text: str, words: tuple[str, ...]) -> None:
    assert split(text) == words


@given(st.text(max_size=60))
def test_never_fails_and_loses_nothing_but_blanks_and_quotes(text: str) -> None:
    joined = "".join(split(text))
    for char in text:
        if not char.isspace() and char not in "'\"\\":
            assert char in joined


@given(st.lists(st.from_regex(r"[A-Za-z0-9=.,:/_-]+", fullmatch=True)))
def test_plain_words_come_back(words: list[str]) -> None:
    assert list(split(" ".join(words))) == words
