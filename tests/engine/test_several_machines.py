"""Launches over several GPUs and machines: what the rules accept, the real engine configuration accepts, and what they refuse, it refuses."""

from __future__ import annotations

import pytest

from resolver.resolution import Resolution
from tests.engine.real_config import Launch, check_many, with_stand_ins
from tests.engine.real_parser import VARIABLE, available
from tests.explain.requests import ask

PINNED = "0.31.0"
TWO = ("NNODES=2", "MASTER_ADDR=10.0.0.1")


def put(resolution: Resolution) -> Launch:
    return Launch(with_stand_ins(resolution.argv), "8.6", devices=2)


@pytest.mark.engine
@pytest.mark.slow
def test_the_engine_agrees() -> None:
    if not available(PINNED):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {PINNED}")
    asked = [
        ("", ("TENSOR_PARALLEL_SIZE=2", *TWO)),
        ("", ("TENSOR_PARALLEL_SIZE=2", "NODE_RANK=1", *TWO)),
        ("", ("PIPELINE_PARALLEL_SIZE=2", "TENSOR_PARALLEL_SIZE=2", *TWO)),
        ("", ("DATA_PARALLEL_SIZE=2", *TWO)),
        ("nodes-beside-ray", ("TENSOR_PARALLEL_SIZE=2", "DISTRIBUTED_EXECUTOR_BACKEND=ray", *TWO)),
        ("gpus-that-nodes-cannot-share-out", TWO),
        ("node-rank-beyond-the-nodes", ("TENSOR_PARALLEL_SIZE=2", "NODE_RANK=2", *TWO)),
        ("no-share-of-the-gpu", ("GPU_UTIL=0",)),
        ("length-of-nothing", ("MAX_LEN=0",)),
    ]
    resolutions = [ask("off-fast", *words, on="2x-rtx-3080-20gb", engine=PINNED) for _, words in asked]
    for (rule, words), resolution in zip(asked, resolutions, strict=True):
        refusals = [d.rule for d in resolution.diagnostics if d.severity == "refuse"]
        assert refusals == ([rule] if rule else []), words
    answers = check_many(PINNED, [put(r) for r in resolutions])
    wrong = [
        (words, answer.message[:300])
        for (rule, words), answer in zip(asked, answers, strict=True)
        if answer.ok == bool(rule)
    ]
    assert wrong == []


def test_only_the_first_machine_gets_api_servers() -> None:
    """`vllm serve` refuses --headless beside a count of API servers above 0."""
    first, second = (ask("off-fast", "TENSOR_PARALLEL_SIZE=2", *TWO, f"NODE_RANK={n}") for n in (0, 1))
    assert "--api-server-count" in first.argv
    assert "--headless" not in first.argv
    assert "--headless" in second.argv
    assert "--api-server-count" not in second.argv
