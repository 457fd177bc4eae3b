# SPDX-License-Identifier: Apache-2.0
"""SPLITVERIFY_SAMPLER: top-k and top-p of vLLM's native sampler by our kernel, where it serves a row.

vLLM's own kernel runs afterwards on what is left. For rows that were served it is told that there is no limit, which is one
comparison there; so nothing has to be known on the host, and any k stays right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

ROWS = 64
"""Above that many rows vLLM's one program a row fills a GPU, and nothing was measured."""

Apply = Callable[..., torch.Tensor]


def with_ours(theirs: Apply) -> Apply:
    """vLLM's ``apply_top_k_top_p_triton`` with our kernel before it."""

    def apply_top_k_top_p_triton(logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None,
                                 *args: Any, **kwargs: Any) -> torch.Tensor:
        if k is None or not 0 < logits.shape[0] <= ROWS or logits.stride(1) != 1 or args or kwargs:
            return theirs(logits, k, p, *args, **kwargs)
        from splitverify.ops.top_k_top_p import top_k_top_p

        k, p = top_k_top_p(logits, k.to(torch.int32), None if p is None else p.to(torch.float32))
        return theirs(logits, k, p)

    apply_top_k_top_p_triton.__wrapped__ = theirs  # type: ignore[attr-defined]
    return apply_top_k_top_p_triton


def install() -> bool:
    """Put ours before vLLM's, once. False where vLLM has no such kernel."""
    from vllm.v1.sample.ops import topk_topp_sampler as module

    theirs = getattr(module, "apply_top_k_top_p_triton", None)
    if theirs is None:
        return False
    if not hasattr(theirs, "__wrapped__"):
        module.apply_top_k_top_p_triton = with_ours(theirs)
    return True
