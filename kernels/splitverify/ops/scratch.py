# SPDX-License-Identifier: Apache-2.0
"""The static workspace of the split kernels.

A CUDA graph keeps addresses, so the workspace is allocated once and never grows. Partials are indexed by the token's
slot in the batch, not by (request, query): its size follows from the largest batch of tokens and not from how many
requests times how many queries there could be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def scratch_bytes(max_tokens: int, num_heads: int, head_size: int, segments: int) -> int:
    """Bytes of a workspace: per (token, head, segment) an fp32 accumulator of ``head_size`` and two fp32 numbers."""
    return max_tokens * num_heads * segments * (head_size + 2) * 4


@dataclass(frozen=True)
class Scratch:
    """Partials ``acc [max_tokens * num_heads * segments, head_size]`` and ``(m, l)`` of the same rows, fp32.

    One may serve all layers of a stream, because layers run one after the other. Its content needs no initialisation.
    """

    acc: torch.Tensor
    ml: torch.Tensor
    max_tokens: int
    num_heads: int
    head_size: int
    segments: int

    def why_too_small(self, tokens: int, num_heads: int, head_size: int, segments: int) -> str | None:
        """None when a call with these sizes fits, otherwise the reason in one line."""
        if head_size != self.head_size or num_heads > self.num_heads:
            return f"scratch is for {self.num_heads} heads of {self.head_size}, not {num_heads} of {head_size}"
        if tokens * num_heads * segments > self.max_tokens * self.num_heads * self.segments:
            return (f"{tokens} tokens in {segments} segments need more scratch than the "
                    f"{self.max_tokens} x {self.segments} allocated")
        return None


def allocate_scratch(max_tokens: int, num_heads: int, head_size: int, segments: int,
                     device: torch.device | str) -> Scratch:
    """Allocate the workspace for batches of at most ``max_tokens`` query tokens."""
    import torch

    rows = max_tokens * num_heads * segments
    if rows >= 2**31:
        raise ValueError(f"{max_tokens} tokens x {num_heads} heads x {segments} segments pass 2**31 rows")
    return Scratch(acc=torch.empty(rows, head_size, dtype=torch.float32, device=device),
                   ml=torch.empty(rows, 2, dtype=torch.float32, device=device),
                   max_tokens=max_tokens, num_heads=num_heads, head_size=head_size, segments=segments)
