"""JSON that was spoilt is a ValueError with a text, and nothing else; what is whole is read as the standard library reads it."""

from __future__ import annotations

import json

import pytest

from resolver import strict_json


@pytest.mark.parametrize(
    "text", ['{"a": [1, -2.5, 1e300, 9999999999999999999, -9999999999999999999]}', "null", '"x"', "[]"]
)
def test_what_is_whole(text: str) -> None:
    assert strict_json.loads(text) == strict_json.loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON, or not whole"),
        ('{"a": 1', "no JSON, or not whole"),
        (b"\xff\xfe{", "no UTF-8|no JSON"),
        (b'"\xff"', "no UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[NaN]", "it holds NaN, which is no number"),
        ("[-Infinity]", "it holds -Infinity"),
        ("[1e999]", "it holds 1e999, which is too large"),
        ("[" + "9" * 20 + "]", "a number of 20 digits"),
        ("[-" + "9" * 9000 + "]", "a number of 9000 digits"),
    ],
    ids=range(11),
)
def test_what_is_not(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        strict_json.loads(text)
    assert isinstance(caught.value, strict_json.OddNumber) == ("holds" in says or "digits" in says)
