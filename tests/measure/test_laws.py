"""Whatever a server sends, nothing raises, and nothing that contradicts itself passes for an answer."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from resolver.measure.exact_match import final, number, same
from resolver.measure.measurement import Measurement
from resolver.measure.metrics import parse
from resolver.measure.stream import read
from resolver.measure.verbatim import grade

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "content", "index", "x"]), inner)
    ),
    max_leaves=8,
)
NAMES = [
    "choices",
    "usage",
    "error",
    "delta",
    "text",
    "finish_reason",
    "completion_tokens",
    "prompt_tokens",
    "tool_calls",
]
EVENTS = st.dictionaries(
    st.sampled_from(NAMES),
    VALUES
    | st.dictionaries(st.sampled_from(NAMES), VALUES)
    | st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES | st.lists(VALUES, max_size=2)), max_size=2),
).map(json.dumps) | st.text(max_size=20)


@given(st.lists(EVENTS, max_size=6), st.integers(1, 400), st.booleans())
def test_a_stream_of_anything_is_an_answer_or_a_problem(events: list[str], limit: int, exact: bool) -> None:
    answer = read(lambda: iter([*events, "[DONE]"]), limit, exact=exact)
    if not answer.problem:
        assert answer.tokens is not None
        assert 0 <= answer.tokens <= limit
        assert not exact or answer.tokens == limit
        assert answer.tokens or not answer.said


@given(
    st.text() | st.lists(st.sampled_from(["vllm:prompt_tokens_total", "{a=", '"}', " 1", " x", "\n", "#"])).map("".join)
)
def test_a_page_of_anything_is_read(page: str) -> None:
    found = parse(page)
    assert all(isinstance(value, float) for value in found.values.values())


LINE = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), min_size=1, max_size=30
)


@given(st.text(max_size=300), st.lists(LINE, min_size=1, max_size=6), st.booleans())
def test_only_a_copy_is_verbatim(answer: str, wanted: list[str], cut: bool) -> None:
    found = grade(answer, wanted, cut=cut)
    source = "\n".join(wanted)
    if found.verbatim:
        assert source.startswith(answer.strip()[:-2]) or "```" in answer
    assert 0 <= found.matched <= len(source)


@given(st.text(max_size=80), st.text(min_size=1, max_size=20))
def test_grading_is_total(answer: str, wanted: str) -> None:
    assert isinstance(same(final(answer, wanted), wanted), bool)
    if (value := number(wanted)) is not None:
        assert same(final(f"so it is\n#### {wanted}", wanted), wanted), value


@given(
    st.builds(
        Measurement,
        metric=st.text(min_size=1),
        value=st.floats(allow_nan=False, allow_infinity=False),
        unit=st.text(),
        n=st.integers(1, 10**6),
        conditions=st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
        notes=st.lists(st.text()).map(tuple),
        sound=st.booleans(),
    )
)
def test_a_measurement_survives_json(one: Measurement) -> None:
    assert Measurement.from_json(json.loads(json.dumps(one.as_json()))) == one
