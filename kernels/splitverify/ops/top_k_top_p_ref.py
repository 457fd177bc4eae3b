# SPDX-License-Identifier: Apache-2.0
"""K6 in plain torch: sort, mask, scatter back."""

from __future__ import annotations

import torch


def top_k_top_p_ref(logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None) -> torch.Tensor:
    """``logits [R, V]`` with -inf where top-k or top-p drops them; nothing is changed in place. All rows, any k."""
    values, index = logits.sort(dim=-1)
    if k is not None:
        kth = values.gather(1, (values.shape[1] - k.long().clamp(max=values.shape[1]))[:, None])
        values = values.masked_fill(values < kth, float("-inf"))
    if p is not None:
        drop = values.softmax(-1).cumsum(-1) <= 1 - p[:, None]
        drop[:, -1] = False                                        # at least one
        values = values.masked_fill(drop, float("-inf"))
    return torch.empty_like(logits).scatter_(1, index, values)
