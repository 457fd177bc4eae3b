"""Keys of `--speculative-config`: what we refuse, the engine's own configuration refuses, after its parser let it through."""

from __future__ import annotations

import json

import pytest

from tests.engine.real_config import Launch, check_many
from tests.engine.real_parser import VARIABLE, available
from tools.engine_data.child.check_configs import TARGET

PINNED = "0.31.0"


@pytest.mark.slow
@pytest.mark.engine
def test_the_engine_refuses_a_key_that_it_does_not_have() -> None:
    if not available(PINNED):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {PINNED}")
    whole = {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 3}
    asked = [whole, whole | {"nosuch": 1}]
    start = [TARGET, "--max-model-len", "512"]
    answers = check_many(PINNED, [Launch([*start, "--speculative-config", json.dumps(value)]) for value in asked])
    assert [a.ok for a in answers] == [True, False], [a.message for a in answers]
    assert "nosuch" in (answers[1].message or "")
