# SPDX-License-Identifier: Apache-2.0
"""Other kernels for a chunk of a prefill, called on the same batch when they are installed. Each returns a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from splitverify.bench.peers import Call, flash_attention_3, vllm_unified
from splitverify.cases import Batch, Case
from splitverify.layout import UNQUANTIZED


def contiguous(case: Case, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, K and V of the one request as ``[1, heads, tokens, D]``, K and V repeated for every query head."""
    blocks = batch.block_table[0, :-(-case.lens[0] // case.block_size)].long()
    group = case.num_heads // case.num_kv_heads
    k, v = (x[blocks].flatten(0, 1)[None, :case.lens[0]].transpose(1, 2).repeat_interleave(group, 1).contiguous()
            for x in (batch.cache.keys(), batch.cache.values()))
    return batch.q[None].transpose(1, 2).contiguous(), k, v


def one_request(case: Case, batch: Batch) -> str | None:
    """Why torch's kernels cannot be compared on a batch, or None."""
    return None if batch.cache.fmt == UNQUANTIZED and len(case.lens) == 1 else "one bf16 request only"


def sdpa_flash(case: Case, batch: Batch, out: torch.Tensor) -> Call | str:
    """torch's FlashAttention 2 on contiguous K and V, causal from the last key back."""
    why = one_request(case, batch)
    if why:
        return why
    q, k, v = contiguous(case, batch)

    def call() -> Any:
        # The operator's own causality is aligned to the last key, unlike that of scaled_dot_product_attention.
        found = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True, scale=batch.kwargs["scale"])[0]
        return out.copy_(found[0].transpose(0, 1))

    return call


def cudnn(case: Case, batch: Batch, out: torch.Tensor) -> Call | str:
    """cuDNN through torch on contiguous K and V, without a mask: it also reads the keys behind each query. Not compared."""
    why = one_request(case, batch)
    if why:
        return why
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = contiguous(case, batch)

    def call() -> torch.Tensor:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=batch.kwargs["scale"])  # type: ignore[arg-type]

    return call


PREFILL_PEERS: dict[str, tuple[Callable[[Case, Batch, torch.Tensor], Call | str], bool]] = {
    "vLLM unified": (vllm_unified, True), "FA3": (flash_attention_3, True), "SDPA flash": (sdpa_flash, True),
    "cuDNN, no mask": (cudnn, False)}
"""By name: how to make the call, and whether its result is comparable."""
