"""The real engine configuration on a faked card, against answers that were recorded with other code and another model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.real_config import Launch, check_many, with_stand_ins
from tests.engine.real_parser import VARIABLE, available
from tests.engine.test_engine_files import reference
from tools.engine_data.child.check_configs import DRAFTER, TARGET

PINNED = "0.31.0"
pytestmark = pytest.mark.slow
EXPANDABLE = {"offload+expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}


def needs() -> None:
    """Skips the test, saying why, where there is no engine to ask."""
    if not available(PINNED):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {PINNED}")


def squeezed(text: str) -> str:
    """A reason as the recording holds it: one line, cut."""
    return " ".join(text.split())[:100]


def test_recorded_checks() -> None:
    """33 launches: accepted or refused as recorded, and for the recorded reason."""
    needs()
    cases: dict[str, dict[str, Any]] = reference("engine_config_checks-0.31")
    launches = [
        Launch([TARGET, "--max-model-len", "512", *case["args"]], env=EXPANDABLE.get(name, {}))
        for name, case in cases.items()
    ]
    wrong = []
    for (name, case), answer in zip(cases.items(), check_many(PINNED, launches), strict=True):
        result: str = case["result"]
        other_reason = result.startswith("FAIL") and squeezed(answer.message) != squeezed(result.removeprefix("FAIL "))
        if answer.ok != result.startswith("OK") or other_reason:
            wrong.append((name, result, answer.message))
    assert len(cases) == 33
    assert wrong == []


def test_summary_and_isolation() -> None:
    """A case's variables do not reach the next one; the summary holds what the engine settled on."""
    needs()
    offload = [TARGET, "--max-model-len", "512", "--kv-offloading-size", "8"]
    first, second, third = check_many(
        PINNED,
        [
            Launch(offload, env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
            Launch(offload),
            Launch(
                [
                    TARGET,
                    "--speculative-config",
                    f'{{"method":"dflash","model":"{DRAFTER}","num_speculative_tokens":7}}',
                ],
                "12.0",
            ),
        ],
    )
    assert (first.ok, second.ok, third.ok) == (False, True, True)
    assert third.summary is not None
    assert third.summary["speculative"] == ["dflash", 7]


def test_stand_ins() -> None:
    argv = [
        "venv/bin/vllm",
        "serve",
        "models/real",
        "--speculative-config",
        '{"method":"dflash","model":"models/drafter"}',
    ]
    assert with_stand_ins(argv) == [TARGET, "--speculative-config", '{"method": "dflash", "model": "{drafter}"}']
    with pytest.raises(ValueError, match="the model must come first"):
        with_stand_ins(["--port", "1"])
