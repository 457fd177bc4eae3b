# SPDX-License-Identifier: Apache-2.0
"""Runs inside a vLLM 0.31 environment without a GPU, started by test_vllm_forward.py; prints one JSON object.

``forward`` of the impls under FLASH_ATTN and TRITON_ATTN, with metadata made by vLLM's own builders. vLLM's kernels
cannot run here: its two ``forward`` methods, and FLASH_ATTN's store, are replaced by records of the call.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import types
from typing import Any

import torch

from fake_cuda import Cuda, pretend_gpu  # before anything imports vLLM

import vllm.platforms

Scenario = dict[str, Any]
DTYPES = {"bf16": "auto", "fp8": "fp8", "int8": "int8_per_token_head"}
SWITCHES = ("VLLM_SPEC_DECODE_ATTN", "VLLM_SPEC_DECODE_ATTN_QMAX", "VLLM_PREFILL_ATTN", "FA2_FP8KV", "VLLM_BATCH_INVARIANT")
CALLS: list[str] = []
LINES: list[str] = []


def builder_of(backend: Any, config: Any) -> Any:
    """The backend's metadata builder, made by its own constructor for a model of 4 query and 2 KV heads."""
    from vllm.config import CUDAGraphMode
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    model = types.SimpleNamespace(
        get_num_attention_heads=lambda parallel: 4, get_num_kv_heads=lambda parallel: 2, get_head_size=lambda: 128,
        rswa_window=None, is_mm_prefix_lm=False, hf_config=types.SimpleNamespace(model_type="qwen3"))
    parallel = types.SimpleNamespace(cp_kv_cache_interleave_size=1, decode_context_parallel_size=1)
    made_up = types.SimpleNamespace(
        model_config=model, parallel_config=parallel, cache_config=types.SimpleNamespace(cache_dtype="auto"),
        compilation_config=types.SimpleNamespace(cudagraph_mode=CUDAGraphMode.NONE, max_cudagraph_capture_size=64,
                                                 cudagraph_capture_sizes=[64], static_forward_context={}),
        attention_config=config.attention_config, kernel_config=types.SimpleNamespace(enable_jit_warmup=False),
        scheduler_config=types.SimpleNamespace(max_num_seqs=4, max_num_batched_tokens=64))
    spec = FullAttentionSpec(block_size=16, num_kv_heads=2, head_size=128, dtype=torch.bfloat16)
    return backend.get_builder_cls()(spec, [], made_up, torch.device("cpu"))


def metadata_of(builder: Any, case: Any, batch: Any, tokens: int) -> Any:
    """vLLM's metadata of the batch; ``tokens`` as vLLM counts them, the padding of a captured batch included."""
    from vllm.v1.attention.backend import CommonAttentionMetadata

    common = CommonAttentionMetadata(
        query_start_loc=batch.query_start_loc, query_start_loc_cpu=batch.query_start_loc, seq_lens=batch.seq_lens,
        num_reqs=len(case.lens), num_actual_tokens=tokens, max_query_len=max(case.q), max_seq_len=max(case.lens),
        block_table_tensor=batch.block_table, slot_mapping=torch.zeros(tokens, dtype=torch.int64), causal=case.causal)
    return builder.build(0, common)


def backend_class(name: str) -> Any:
    """The class that the registry gives once the plugin was loaded."""
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    return AttentionBackendEnum[name].get_class()


def run(scenario: Scenario) -> dict[str, Any]:
    """One call of ``forward``: who served it, what was counted and logged, and how wrong the result is."""
    import splitverify.plugin
    from splitverify.cases import Case, make_batch, why_wrong
    from splitverify.ops.verify_attention_ref import verify_attention_ref
    from splitverify.plugin.fallbacks import COUNTS
    from vllm.config import VllmConfig, set_current_vllm_config

    for name in SWITCHES:
        os.environ.pop(name, None)
    os.environ.update(scenario.get("load", {"VLLM_SPEC_DECODE_ATTN": "1"}))
    splitverify.plugin.register()
    pretend_gpu(*scenario.get("capability", (8, 6)))
    fields = dict(fmt="bf16", lens=(37, 3, 60), q=(8, 1, 4))
    fields.update({k: tuple(v) if isinstance(v, list) else v for k, v in scenario.get("case", {}).items()})
    case = Case(num_heads=4, num_kv_heads=2, head_size=128, **fields)
    batch = make_batch(case)
    backend = backend_class(scenario["backend"])
    config = VllmConfig()
    with set_current_vllm_config(config):
        builder = builder_of(backend, config)
        impl = backend.get_impl_cls()(4, 128, batch.kwargs["scale"], 2, None, case.window or None, DTYPES[case.fmt],
                                      **scenario.get("impl", {}))
    os.environ.update(scenario.get("later", {}))
    one = torch.ones(1)
    layer = types.SimpleNamespace(_q_scale=one, _k_scale=batch.kwargs.get("k_scale", one),
                                  _v_scale=batch.kwargs.get("v_scale", one))
    spare = scenario.get("spare_rows", 0)
    tokens = batch.q.shape[0] + scenario.get("padded_tokens", 0)
    rows = tokens + spare
    q = torch.zeros(rows, 4, 128, dtype=torch.bfloat16)
    q[:batch.q.shape[0]] = batch.q
    out = torch.full((rows, 4, 128), float("nan"), dtype=torch.bfloat16)
    metadata = metadata_of(builder, case, batch, tokens)
    for name, value in scenario.get("metadata", {}).items():
        setattr(metadata, name, torch.tensor(value) if isinstance(value, list) else value)
    CALLS.clear(), LINES.clear(), COUNTS.clear()
    result: dict[str, Any] = dict(metadata=type(metadata).__name__, wants_fp8_q=impl.supports_quant_query_input,
                                  graphs=builder.get_cudagraph_support(None, None).name,
                                  varlen=builder.get_varlen_cudagraph_max_query_len(None, None))
    extra = [one] if scenario.get("output_scale") else []
    try:
        for _ in range(scenario.get("times", 1)):
            impl.forward(layer, q.to(getattr(torch, scenario.get("q_dtype", "bfloat16"))), q, q, batch.kv_cache, metadata,
                         out, *extra)
    except NotImplementedError as error:
        result["refused"] = str(error)
    n = batch.q.shape[0]
    result.update(theirs=list(CALLS), counts=dict(COUNTS), lines=list(LINES), rest_untouched=bool(
        torch.isnan(out[n:].float()).all()), untouched=bool(torch.isnan(out.float()).all()))
    if not CALLS and "refused" not in result:
        ref = verify_attention_ref(*batch.args(), **batch.kwargs)
        result["wrong"] = why_wrong(out[:n], ref, batch.max_v)
    return result


def main() -> None:
    """All scenarios of argv, by name, as JSON on the last line."""
    vllm.platforms._current_platform = Cuda()
    pretend_gpu(8, 6)                                              # classes ask when they are imported
    from vllm.v1.attention.backends import fa_utils, flash_attn, triton_attn

    # The library of FlashAttention 2 is not here, so vLLM would find no version of it.
    fa_utils.get_flash_attn_version = flash_attn.get_flash_attn_version = lambda *a, **k: 2
    for impl in (flash_attn.FlashAttentionImpl, triton_attn.TritonAttentionImpl):
        def record(self: Any, *args: Any, name: str = impl.__name__) -> torch.Tensor:
            CALLS.append(name)
            return args[6]
        impl.forward = record
    logger = logging.getLogger("vllm.splitverify")
    logger.setLevel(logging.INFO)
    handler = logging.Handler()
    handler.emit = lambda entry: LINES.append(entry.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    print(json.dumps({name: run(scenario) for name, scenario in json.loads(sys.argv[2]).items()}))


if __name__ == "__main__":
    main()
