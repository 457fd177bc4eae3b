"""One line of evidence is put into profiles.yaml, in whatever layout, and no other byte changes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resolver.measure.flow import flow
from resolver.measure.into_splice import NoPlace, add
from resolver.yaml12 import parse

LAYOUTS = {
    "block": "arms:\n  a:\n    help: x\n    sets: {b: c}  # why\n\n    # about examples\n    examples: {}\n  z: {help: y}\n",
    "evidence": "arms:\n  a:\n    evidence:\n      - {id: one}  # first\n\n    # after\n    help: x\n",
    "unindented": "arms:\n  a:\n    evidence:\n    - id: one\n      metric: m\n    - {id: two}\n    help: x\n",
    "flow evidence": "arms:\n  a:\n    evidence: [{id: one}, {id: two}]  # both\n    help: x\n",
    "flow with a comma": "arms:\n  a:\n    evidence: [{id: one},\n      {id: two},\n    ]\n    help: x\n",
    "flow arm": "arms:\n  a: {help: x, sets: {b: c}}\n  z: {help: y}\n",
    "flow arm, evidence": "arms: {a: {help: x, evidence: [{id: one}]}, z: {help: y}}\n",
    "no end": "arms:\n  a:\n    help: x\n    sets: {b: c}",
    "no end, evidence": "arms:\n  a:\n    evidence:\n      - {id: one}",
    "windows": "arms:\r\n  a:\r\n    help: x\r\n    sets: {b: c}\r\n    examples: {}\r\n",
    "mark and letters": "\ufeff# \u00e4\U0001f600\narms:\n  a:\n    help: \u00e9\u00e9\n    sets: {b: c}\n",
    "block text": "arms:\n  a:\n    sets:\n      b: |\n        many\n        lines\n\n\n    help: >-\n      x\n\n  z: {help: y}\n",
    "last is text": "arms:\n  a:\n    help: |\n      x\n      y\n\n# end\n",
    "wide": "arms:\n        a:\n                help:   x\n                sets:   {b:   c}   # far\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_keeps_its_bytes(layout: str) -> None:
    text = LAYOUTS[layout]
    items = [{"id": "new", "note": "it's: #1"}, {"id": "newer"}]
    new, start, end = add(text, "a", items)
    assert new[:start] + new[end:] == text
    expected = parse(text, "p").data
    expected["arms"]["a"]["evidence"] = [*expected["arms"]["a"].get("evidence", []), *items]
    assert parse(new, "p").data == expected
    assert new.endswith("\n") == text.endswith("\n")
    if "\r\n" in text:
        assert "\n" not in new.replace("\r\n", "")
    assert parse(add(new, "a", [{"id": "third"}])[0], "p").data["arms"]["a"]["evidence"][-1] == {"id": "third"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arms:\n  b: {help: x}\n", "no arm a"),
        ("arms: []\n", "no arm a"),
        ("arms:\n  a: {help: x, evidence: one}\n", "is no list"),
    ],
)
def test_where_there_is_no_place_nothing_is_guessed(text: str, said: str) -> None:
    with pytest.raises(NoPlace, match=said):
        add(text, "a", [{"id": "x"}])


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(10**9), 10**9)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=4),
        max_leaves=12,
    )
)
def test_one_line_of_yaml_reads_back_in_both_versions(data: Any) -> None:
    text = flow({"a": data})
    assert "\n" not in text
    assert parse(text, "p").data == {"a": data}
    assert yaml.safe_load(text) == {"a": data}
