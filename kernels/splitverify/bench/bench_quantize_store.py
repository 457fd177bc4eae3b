# SPDX-License-Identifier: Apache-2.0
"""K2: right against the reference, then time, then vLLM's own writer where it is installed; a plain copy is the floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from splitverify.bench import Wrong
from splitverify.bench.timing import Timing
from splitverify.cases import FORMATS, Case, empty_cache
from splitverify.layout import FP8, INT8, CacheView, content_size, view_cache
from splitverify.ops.quantize_store import quantize_store
from splitverify.ops.quantize_store_ref import quantize_store_ref, why_store_differs

Call = Callable[[], object]


def moved_bytes(case: Case, tokens: int) -> int:
    """Bytes that a store must move: bf16 K and V in, the cache's cells out."""
    fmt = FORMATS[case.fmt]
    cell = content_size(case.head_size, fmt) * (1 if fmt in (FP8, INT8) else 2)
    return tokens * case.num_kv_heads * (2 * case.head_size * 2 + cell)


def vllm_writer(kv_cache: torch.Tensor, cache: CacheView, key: torch.Tensor, value: torch.Tensor, slots: torch.Tensor,
                scale: torch.Tensor) -> Call:
    """vLLM's Triton writer for that format, in its own layout. Raises ``ImportError`` without vLLM."""
    from vllm.v1.attention.ops import triton_reshape_and_cache_flash as ops
    from vllm.v1.kv_cache_interface import KVQuantMode

    sides = kv_cache.transpose(1, 2).split(kv_cache.shape[-1] // 2, dim=-1)
    if cache.fmt == INT8:
        scales = cache.key_scales(), cache.value_scales()
        return lambda: ops.triton_reshape_and_cache_flash_per_token_head_quant(
            key, value, *sides, *scales, slots, kv_quant_mode=KVQuantMode.INT8_PER_TOKEN_HEAD)
    if cache.fmt == FP8:
        sides = tuple(side.view(torch.float8_e4m3fn) for side in sides)
    return lambda: ops.triton_reshape_and_cache_flash(key, value, *sides, slots, "fp8" if cache.fmt == FP8 else "auto",
                                                      scale, scale)


def measure_store(case: Case, tokens: int, timer: Callable[..., Timing], peers: bool = True,
                  device: str = "cuda") -> Iterator[dict[str, Any]]:
    """One record a kernel for a store of ``tokens`` tokens into a pool with ``case``'s format, layout and heads.

    ``timer`` is a :class:`splitverify.bench.timing.Timer`. Raises :class:`Wrong` when the pools' bytes differ.
    """
    blocks = -(-tokens // case.block_size) + 2
    generator = torch.Generator(device=device).manual_seed(case.seed)
    # K and V are slices of a fused projection, as in a model.
    fused = torch.randn(tokens, 2 * case.num_kv_heads, case.head_size, generator=generator, device=device).bfloat16()
    key, value = fused[:, :case.num_kv_heads], fused[:, case.num_kv_heads:]
    slots = torch.randperm(blocks * case.block_size, generator=generator, device=device)[:tokens]
    scale = torch.tensor([0.02], device=device)

    def pool() -> tuple[torch.Tensor, CacheView]:
        kv_cache = empty_cache(case, blocks, device)
        return kv_cache, view_cache(kv_cache, case.head_size, FORMATS[case.fmt], case.layout)

    (mine, cache), (theirs, their_cache) = pool(), pool()

    def ours() -> None:
        quantize_store(key, value, cache, slots, scale, scale)

    ours()
    quantize_store_ref(key, value, their_cache, slots, scale, scale)
    why = why_store_differs(cache, their_cache, key.numel())
    if why:
        raise Wrong(f"store of {tokens} tokens, {case.fmt} {case.layout}: {why}")
    source = torch.zeros(moved_bytes(case, tokens) // 2, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    floor, took = timer(lambda: target.copy_(source)), timer(ours)
    common = dict(fmt=case.fmt, layout=case.layout, tokens=tokens, heads=case.num_kv_heads, head_size=case.head_size,
                  gpu=torch.cuda.get_device_name() if device == "cuda" else device)
    yield dict(common, kernel="plain copy", us=floor.median, low=floor.low, high=floor.high, of_floor=1.0)
    yield dict(common, kernel="splitverify", us=took.median, low=took.low, high=took.high,
               of_floor=floor.median / took.median)
    if not peers or case.layout != "inline":
        return
    try:
        other, other_cache = pool()
        call = vllm_writer(other, other_cache, key, value, slots, scale)
        call()
        same = torch.equal(other.view(torch.uint8), mine.view(torch.uint8))
        took = timer(call)
        yield dict(common, kernel="vLLM", us=took.median, low=took.low, high=took.high,
                   of_floor=floor.median / took.median, wrong=None if same else "bytes differ from ours")
    except Exception as error:                                     # a peer that is not there, or cannot run here
        yield dict(common, kernel="vLLM", absent=f"{type(error).__name__}: {str(error)[:120]}")
