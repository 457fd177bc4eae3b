# SPDX-License-Identifier: Apache-2.0
"""Runs inside a vLLM 0.31 environment without a GPU, started by test_vllm.py; prints one JSON object."""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any

import torch

from fake_cuda import Cuda, pretend_gpu  # first of all that imports vLLM
from vllm.platforms.interface import DeviceCapability

import vllm.platforms


def selected(backend: str, **fields: Any) -> dict[str, Any]:
    """What the real selector says to one configuration: the class path, or the reasons."""
    from vllm.v1.attention.backends.registry import AttentionBackendEnum
    from vllm.v1.attention.selector import AttentionSelectorConfig

    base = dict(head_size=256, dtype=torch.bfloat16, kv_cache_dtype="auto", block_size=None)
    Cuda.capability = DeviceCapability(*fields.pop("capability", (9, 0)))
    base.update(fields)
    try:
        path = Cuda.get_attn_backend_cls(AttentionBackendEnum[backend], AttentionSelectorConfig(**base))
        return dict(path=path)
    except ValueError as error:
        return dict(refused=str(error))


def layer_run(fmt: str, layout: str) -> dict[str, Any]:
    """The real impl in the interpreter: store, verify, and the bytes that vLLM's own writer leaves."""
    from splitverify.cases import Case, empty_cache, why_wrong
    from splitverify.layout import FP8, INT8, view_cache
    from splitverify.ops.verify_attention_ref import verify_attention_ref
    from splitverify.plugin.custom import SplitVerifyBackend, SplitVerifyImpl
    from splitverify.plugin.fallbacks import COUNTS
    from splitverify.plugin.runner import FORMAT_OF_DTYPE
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.v1.attention.ops.triton_reshape_and_cache_flash import (
        triton_reshape_and_cache_flash_per_token_head_quant,
    )
    from vllm.v1.kv_cache_interface import KVQuantMode

    os.environ["SPLITVERIFY_INT8_LAYOUT"] = layout
    pretend_gpu(8, 6)
    with set_current_vllm_config(VllmConfig()):
        impl = SplitVerifyImpl(num_heads=4, head_size=128, scale=0.088, num_kv_heads=2, alibi_slopes=None,
                               sliding_window=None, kv_cache_dtype=fmt)
    code = FORMAT_OF_DTYPE[fmt]
    case = Case(fmt={0: "bf16", FP8: "fp8", INT8: "int8"}[code], num_heads=4, num_kv_heads=2, head_size=128,
                block_size=32)
    kv_cache = empty_cache(case, 4, "cpu")
    generator = torch.Generator().manual_seed(5)
    k = torch.randn(44, 2, 128, generator=generator).bfloat16()
    v = torch.randn(44, 2, 128, generator=generator).bfloat16()
    slots = torch.arange(44) + 32
    slots[3] = -1
    layer = types.SimpleNamespace(_k_scale=torch.tensor(0.02), _v_scale=torch.tensor(0.02))
    impl.do_kv_cache_update(layer, k, v, kv_cache, slots)
    result: dict[str, Any] = dict(class_name=SplitVerifyBackend.get_name())
    if fmt == "int8_per_token_head" and layout == "inline":
        theirs = empty_cache(case, 4, "cpu")
        view = view_cache(theirs, 128, INT8)
        sides = theirs.transpose(1, 2).split(132, dim=-1)
        triton_reshape_and_cache_flash_per_token_head_quant(
            k, v, sides[0], sides[1], view.key_scales(), view.value_scales(), slots,
            kv_quant_mode=KVQuantMode.INT8_PER_TOKEN_HEAD)
        result["same_bytes"] = torch.equal(kv_cache, theirs)
    slots[3] = 35
    impl.do_kv_cache_update(layer, k[3:4], v[3:4], kv_cache, slots[3:4])
    q = torch.randn(6, 4, 128, generator=generator).bfloat16()
    meta = types.SimpleNamespace(
        num_actual_tokens=5, max_query_len=5, max_seq_len=44, use_cascade=False, causal=True,
        query_start_loc=torch.tensor([0, 5], dtype=torch.int32), seq_lens=torch.tensor([44], dtype=torch.int32),
        block_table=torch.tensor([[1, 2]], dtype=torch.int32), slot_mapping=slots)
    out = torch.full_like(q, float("nan"))
    impl.forward(layer, q, k, v, kv_cache, meta, out)
    cache = view_cache(kv_cache, 128, code, impl.layout)
    ref = verify_attention_ref(q[:5], cache, meta.block_table, meta.seq_lens, meta.query_start_loc, scale=0.088,
                               k_scale=layer._k_scale, v_scale=layer._v_scale)
    result["wrong"] = why_wrong(out[:5], ref, float(v.abs().max()))
    result["padding_untouched"] = bool(torch.isnan(out[5].float()).all())
    # A prefill of the whole sequence, a request of two tokens beside it: the split kernel and the prefill kernel.
    q = torch.randn(46, 4, 128, generator=generator).bfloat16()
    meta = types.SimpleNamespace(
        num_actual_tokens=46, max_query_len=44, max_seq_len=44, use_cascade=False, causal=True,
        query_start_loc=torch.tensor([0, 44, 46], dtype=torch.int32), seq_lens=torch.tensor([44, 30], dtype=torch.int32),
        block_table=torch.tensor([[1, 2], [1, 2]], dtype=torch.int32), slot_mapping=slots)
    impl.runner.multiprocessors = 1                                # or a batch this small would be split
    out = torch.full_like(q, float("nan"))
    before = dict(COUNTS)
    impl.forward(layer, q, q, q, kv_cache, meta, out)
    ref = verify_attention_ref(q, cache, meta.block_table, meta.seq_lens, meta.query_start_loc, scale=0.088,
                               k_scale=layer._k_scale, v_scale=layer._v_scale)
    result.update(prefill_wrong=why_wrong(out, ref, float(v.abs().max())), prefill_scores=impl.runner.scores,
                  prefilled=impl.runner.way(46, 44, 2, True) == "mixed", fell_back=dict(COUNTS) != before)
    return result


def main() -> None:
    """One command from argv, its result as JSON on the last line."""
    command, arguments = sys.argv[1], json.loads(sys.argv[2])
    if command == "plugins":
        vllm.platforms._current_platform = Cuda() if arguments["cuda"] else vllm.platforms.current_platform
    else:
        vllm.platforms._current_platform = Cuda()
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    import transformers
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    if command == "plugins":
        import splitverify.plugin as plugin

        paths = {}
        for name in ("CUSTOM", "FLASH_ATTN", "TRITON_ATTN"):
            try:
                paths[name] = AttentionBackendEnum[name].get_path()
            except ValueError:
                paths[name] = None
        result: Any = dict(paths=paths, off=plugin.why_off(), transformers=transformers.__version__,
                           kernels_is_ours="kernels" in sys.modules and "splitverify" in str(sys.modules["kernels"]))
    elif command == "sampler":
        import splitverify.plugin as plugin
        from vllm.v1.sample.ops import topk_topp_sampler

        found = topk_topp_sampler.apply_top_k_top_p_triton
        plugin.register()
        result = dict(ours=hasattr(found, "__wrapped__"), once=found is topk_topp_sampler.apply_top_k_top_p_triton)
    elif command == "select":
        result = [selected(**{**a, "dtype": getattr(torch, a.get("dtype", "bfloat16"))}) for a in arguments]
    else:
        result = layer_run(**arguments)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
