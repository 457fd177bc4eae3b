# SPDX-License-Identifier: Apache-2.0
"""``forward`` under FLASH_ATTN and TRITON_ATTN inside vLLM 0.31, without a GPU: ours, or vLLM's with a counted reason.

Needs SPLITVERIFY_TEST_VLLM_PYTHON as test_vllm.py does. All scenarios run in one process there: see forward_child.py.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from vllm_env import PYTHON, child

pytestmark = pytest.mark.skipif(not PYTHON, reason="SPLITVERIFY_TEST_VLLM_PYTHON names no Python with vLLM 0.31")

FLASH, TRITON = dict(backend="FLASH_ATTN"), dict(backend="TRITON_ATTN")
FA2_FP8 = dict(backend="FLASH_ATTN", load={"FA2_FP8KV": "1"}, case=dict(fmt="fp8"))
LONG = dict(lens=[40, 30], q=[20, 2])
PROMPT = dict(lens=[80, 30], q=[70, 2])
PREFILL = {"VLLM_PREFILL_ATTN": "fp16"}

# Ours: the result is the reference's.
OURS: dict[str, dict[str, Any]] = {
    "flash, ragged": FLASH,
    "triton, ragged": TRITON,
    "triton, int8": dict(TRITON, case=dict(fmt="int8")),
    "triton, fp8": dict(TRITON, capability=[8, 9], case=dict(fmt="fp8")),
    "flash, window": dict(FLASH, case=dict(window=24, lens=[90, 30], q=[5, 8])),
    "flash, non-causal window": dict(FLASH, case=dict(window=24, lens=[90, 30], q=[5, 8], causal=False)),
    "triton, non-causal window": dict(TRITON, case=dict(window=24, lens=[90, 30], q=[5, 8], causal=False)),
    "flash, padding requests and tokens": dict(FLASH, case=dict(lens=[37, 1, 0, 50], q=[4, 0, 0, 8]), padded_tokens=4,
                                               spare_rows=3),
    "triton, padding requests and tokens": dict(TRITON, case=dict(lens=[37, 1, 0, 50], q=[4, 0, 0, 8]),
                                                padded_tokens=4, spare_rows=3),
    "flash, as many queries as QMAX": dict(FLASH, load={"VLLM_SPEC_DECODE_ATTN": "1", "VLLM_SPEC_DECODE_ATTN_QMAX": "8"}),
    "flash, QMAX raised": dict(FLASH, load={"VLLM_SPEC_DECODE_ATTN": "1", "VLLM_SPEC_DECODE_ATTN_QMAX": "32"},
                               case=LONG),
    "triton, prefill asked for": dict(TRITON, load=PREFILL, case=dict(lens=[40], q=[40])),
    "triton, prefill asked for, int8": dict(TRITON, load=PREFILL, case=dict(fmt="int8", **PROMPT)),
    "flash, prefill asked for": dict(FLASH, load={"VLLM_PREFILL_ATTN": "fp16", "VLLM_SPEC_DECODE_ATTN": "1"}, case=PROMPT),
    "FA2_FP8KV, verify": FA2_FP8,
    "FA2_FP8KV, prefill in a mixed batch": dict(FA2_FP8, case=dict(fmt="fp8", **LONG)),
    "FA2_FP8KV, verify path on as well": dict(FA2_FP8, load={"FA2_FP8KV": "1", "VLLM_SPEC_DECODE_ATTN": "1"}),
}

# vLLM's: the reason, as counted after the backend's name.
THEIRS: dict[str, tuple[dict[str, Any], str]] = {
    "flash, prefill": (dict(FLASH, case=dict(lens=[40], q=[40])), "more than 16 query tokens a request"),
    "triton, prefill": (dict(TRITON, case=dict(lens=[40], q=[40])), "more than 16 query tokens a request"),
    "flash, mixed batch": (dict(FLASH, case=LONG), "more than 16 query tokens a request"),
    "triton, mixed batch, int8": (dict(TRITON, case=dict(fmt="int8", **LONG)), "more than 16 query tokens a request"),
    "triton, prefill with a window": (dict(TRITON, load=PREFILL, case=dict(window=24, **PROMPT)),
                                      "more than 16 query tokens a request in a layer with a window"),
    "triton, verify with the prefill path alone": (dict(TRITON, load=PREFILL), "VLLM_SPEC_DECODE_ATTN is not set"),
    "flash, beyond QMAX": (dict(FLASH, load={"VLLM_SPEC_DECODE_ATTN": "1", "VLLM_SPEC_DECODE_ATTN_QMAX": "7"}),
                           "more than 7 query tokens a request"),
    "flash, switched off afterwards": (dict(FLASH, later={"VLLM_SPEC_DECODE_ATTN": "0"}),
                                       "VLLM_SPEC_DECODE_ATTN is not set"),
    "FA2_FP8KV alone, bf16 cache": (dict(FLASH, load={"FA2_FP8KV": "1"}), "VLLM_SPEC_DECODE_ATTN is not set"),
    "flash, cascade": (dict(FLASH, metadata={"use_cascade": True}), "cascade attention"),
    "flash, multimodal prefix": (dict(FLASH, metadata={"mm_prefix_query_range_tensor": [[0, 3]]}),
                                 "mm_prefix_query_range_tensor"),
    "triton, multimodal prefix": (dict(TRITON, metadata={"mm_prefix_range_tensor": [[[0, 3]]]}), "mm_prefix_range_tensor"),
    "flash, causality by request": (dict(FLASH, metadata={"causal": [1, 0, 1]}), "causality that differs by request"),
    "triton, quantized output": (dict(TRITON, output_scale=True), "a quantized output"),
    "flash, fp8 queries": (dict(FLASH, q_dtype="float8_e4m3fn"), "torch.float8_e4m3fn queries"),
    "triton, chunked attention": (dict(TRITON, impl={"chunk_lookback": 1}, case=dict(window=24)), "chunked attention"),
    "flash, soft cap": (dict(FLASH, impl={"logits_soft_cap": 30.0}), "a logits soft cap"),
    "flash, batch invariance": (dict(FLASH, load={"VLLM_SPEC_DECODE_ATTN": "1", "VLLM_BATCH_INVARIANT": "1"}),
                                "batch invariance, which a split that depends on the batch size does not give"),
    "flash, no table for the GPU": (dict(FLASH, capability=[7, 5]), "compute capability 7.5 is below 8.0"),
}
OTHER: dict[str, dict[str, Any]] = {
    "three times": dict(FLASH, case=LONG, times=3),
    "FA2_FP8KV, cascade": dict(FA2_FP8, metadata={"use_cascade": True}),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each scenario gave."""
    scenarios = {**OURS, **{name: scenario for name, (scenario, _) in THEIRS.items()}, **OTHER}
    return dict(child(Path(os.devnull), "forward", scenarios, script="forward_child.py", TRITON_INTERPRET="1"))


@pytest.mark.parametrize("name", OURS)
def test_served_by_our_kernel(found: dict[str, Any], name: str) -> None:
    result = found[name]
    assert result["theirs"] == [] and result["counts"] == {} and result["lines"] == []
    assert result["wrong"] is None and result["rest_untouched"]


@pytest.mark.parametrize("name", THEIRS)
def test_left_to_vllm_with_a_reason(found: dict[str, Any], name: str) -> None:
    scenario, reason = THEIRS[name]
    result = found[name]
    backend = scenario["backend"]
    assert result["theirs"] == [{"FLASH_ATTN": "FlashAttentionImpl", "TRITON_ATTN": "TritonAttentionImpl"}[backend]]
    assert result["untouched"], "our kernel wrote although vLLM's served the call"
    (line, count), = result["counts"].items()
    assert line.startswith(f"{backend}: {reason}") and count == 1 and "\n" not in line
    assert result["lines"] == [f"splitverify leaves calls to vLLM's own kernel: {line}"]


def test_every_fallback_is_counted_and_the_first_is_logged(found: dict[str, Any]) -> None:
    result = found["three times"]
    assert list(result["counts"].values()) == [3] and len(result["lines"]) == 1 and len(result["theirs"]) == 3


def test_what_no_other_kernel_can_read_is_refused_not_passed_on(found: dict[str, Any]) -> None:
    result = found["FA2_FP8KV, cascade"]
    assert "cascade attention" in result["refused"] and result["theirs"] == [] and result["untouched"]


def test_queries_stay_unquantized_where_we_serve_fp8(found: dict[str, Any]) -> None:
    assert not found["triton, fp8"]["wants_fp8_q"] and not found["FA2_FP8KV, verify"]["wants_fp8_q"]


def test_graphs_are_of_decode_batches(found: dict[str, Any]) -> None:
    """A graph of our launch covers the query tokens it was captured with: vLLM must not replay it with a prefill."""
    assert found["triton, ragged"]["metadata"] == "TritonAttentionMetadata"
    assert found["flash, ragged"]["metadata"] == "FlashAttentionMetadata"
    for name in ("triton, ragged", "flash, ragged"):
        assert found[name]["graphs"] == "UNIFORM_BATCH"
    # FlashAttention 2, which serves what we do not, takes graphs of equal lengths only.
    assert found["triton, ragged"]["varlen"] == 16 and found["flash, ragged"]["varlen"] is None
