"""What the product reads in passed-through words against what the real parser does with them (the sixth law)."""

from __future__ import annotations

import pytest

from resolver.engine import load_engine
from resolver.passthrough import read_words
from tests.engine import odd_words
from tests.engine.real_parser import VARIABLE, available, parse_many
from tests.engine.test_engine_files import document
from tools.engine_data.environment import ROOT

PINNED = "0.31.0"
COUNT = 3000
pytestmark = [pytest.mark.slow, pytest.mark.engine]

# The product refuses these on purpose, and says so: the engine takes them, or takes more than a schema can say.
ON_PURPOSE = ("`--` stands for the end", "--model cannot stand beside", "does not fit")
# The engine refuses these by code of its own, which no data describes; they begin like this in its reason.
BY_CODE = "Value error"


def test_random_words() -> None:
    """Odd words of every kind: accepted by the product means parsed by the engine, and refused means refused."""
    if not available(PINNED):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {PINNED}")
    engine = load_engine(ROOT, PINNED)
    lists = odd_words.lists(31, COUNT, document(PINNED)["flags"])
    ours_alone, theirs_alone, both, by_code = [], [], 0, 0
    for words, (ok, reason) in zip(lists, parse_many(PINNED, [["m", *words] for words in lists]), strict=True):
        parsed = ok or reason.startswith("validate: ")
        problem = read_words(engine, tuple(words)).problem
        both += parsed and problem is None
        if problem is None and not parsed:
            by_code += BY_CODE in reason
            if BY_CODE not in reason:
                ours_alone.append((words, reason[:200]))
        if problem is not None and parsed and not any(text in problem for text in ON_PURPOSE):
            theirs_alone.append((words, problem))
    assert both > COUNT // 4, "the words are too odd to show anything"
    assert by_code < COUNT // 100
    assert ours_alone == []
    assert theirs_alone == []
