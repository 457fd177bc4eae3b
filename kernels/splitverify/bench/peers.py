# SPDX-License-Identifier: Apache-2.0
"""Other attention kernels, called on the same batch when they are installed. Each returns a call that fills ``out``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from splitverify.cases import Batch, Case
from splitverify.layout import FP8, INT8, UNQUANTIZED

Call = Callable[[], Any]


def sdpa(case: Case, batch: Batch, out: torch.Tensor) -> Call | str:
    """torch's flash SDPA on contiguous K and V: no pages and no causal tail, which flatters it; not compared."""
    if batch.cache.fmt != UNQUANTIZED or len(case.lens) > 1 or case.window:
        return "one bf16 request without a window only"
    from torch.nn.attention import SDPBackend, sdpa_kernel

    blocks = batch.block_table[0, :-(-case.lens[0] // case.block_size)].long()
    k, v = (x[blocks].flatten(0, 1)[None, :case.lens[0]].transpose(1, 2).contiguous()
            for x in (batch.cache.keys(), batch.cache.values()))
    q = batch.q[None].transpose(1, 2).contiguous()

    def call() -> torch.Tensor:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    return call


def flash_attention_3(case: Case, batch: Batch, out: torch.Tensor) -> Call | str:
    """vLLM's FA3 extension, its automatic number of splits. The library's path in SPLITVERIFY_FA3, or vLLM's own."""
    if batch.cache.fmt != UNQUANTIZED or case.window:
        return "no path for this format"
    path = os.environ.get("SPLITVERIFY_FA3")
    if path:
        torch.ops.load_library(path)
    elif not hasattr(torch.ops._vllm_fa3_C, "fwd"):
        import vllm.vllm_flash_attn._vllm_fa3_C  # noqa: F401
    k, v = batch.cache.keys(), batch.cache.values()
    top, longest = max(case.q), max(case.lens)
    table = batch.block_table.clamp(max=batch.cache.num_blocks - 1)

    def call() -> Any:
        return torch.ops._vllm_fa3_C.fwd(
            batch.q, k, v, None, None, None, out, batch.query_start_loc, None, None, None, batch.seq_lens, top, longest,
            table, None, None, None, None, None, None, None, None, batch.kwargs["scale"], case.causal, -1, -1, 0.0,
            True, None, 0, None, 0, None, 1, 0, None)[0]

    return call


def vllm_unified(case: Case, batch: Batch, out: torch.Tensor, forced_3d: bool = False) -> Call | str:
    """vLLM's Triton kernel as it is called for a verify step, or pushed onto its split path."""
    if case.layout != "inline":
        return "reads vLLM's own layout only"
    from vllm.v1.attention.ops.triton_unified_attention import unified_attention
    from vllm.v1.kv_cache_interface import KVQuantMode

    fmt = batch.cache.fmt
    k, v = batch.kv_cache.transpose(1, 2).split(batch.kv_cache.shape[-1] // 2, -1)
    if fmt == FP8:
        k, v = k.view(torch.float8_e4m3fn), v.view(torch.float8_e4m3fn)
    tokens = batch.q.shape[0]
    segments = [torch.empty(tokens, case.num_heads, 16, *tail, device=out.device) for tail in ((case.head_size,), (), ())]
    one = torch.ones(1, device=out.device)
    shape = (len(case.lens), case.num_kv_heads)
    scales = {name: (batch.kwargs.get(name, one)).expand(shape) for name in ("k_scale", "v_scale")}  # type: ignore[attr-defined]
    table = batch.block_table.clamp(max=batch.cache.num_blocks - 1)
    window = (case.window - 1, 0) if case.window else (-1, -1)

    def call() -> None:
        unified_attention(
            q=batch.q, k=k, v=v, out=out, cu_seqlens_q=batch.query_start_loc,
            max_seqlen_q=1 if forced_3d else max(2, max(case.q)), seqused_k=batch.seq_lens, max_seqlen_k=max(case.lens),
            softmax_scale=batch.kwargs["scale"], causal=case.causal, window_size=window, block_table=table, softcap=0,
            q_descale=None, k_descale=scales["k_scale"], v_descale=scales["v_scale"], seq_threshold_3D=32,
            num_par_softmax_segments=16, softmax_segm_output=segments[0], softmax_segm_max=segments[1],
            softmax_segm_expsum=segments[2], kv_quant_mode=KVQuantMode(fmt),
            k_scale_cache=batch.cache.key_scales() if fmt == INT8 else None,
            v_scale_cache=batch.cache.value_scales() if fmt == INT8 else None)

    return call


def vllm_forced_3d(case: Case, batch: Batch, out: torch.Tensor) -> Call | str:
    """:func:`vllm_unified`, pushed onto its split path."""
    return vllm_unified(case, batch, out, forced_3d=True)


PEERS: dict[str, tuple[Callable[[Case, Batch, torch.Tensor], Call | str], bool]] = {
    "FA3": (flash_attention_3, True), "vLLM 2-D": (vllm_unified, True), "vLLM 3-D forced": (vllm_forced_3d, True),
    "SDPA flash": (sdpa, False)}
"""By name: how to make the call, and whether its result is comparable."""
