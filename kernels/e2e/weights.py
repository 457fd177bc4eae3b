# SPDX-License-Identifier: Apache-2.0
"""Give a model without weights some that tell tokens apart: vLLM's dummy loader fills every tensor alike."""

from __future__ import annotations

import math
import zlib
from typing import Any

import torch

SHARP = 3.0
"""Spread of the attention's scores. With one, each of a thousand random keys gets a thousandth, and an error of the
attention would not reach the answers; with three, a few keys decide."""


def draw(model: Any) -> int:
    """Draw the weights again, in place, seeded by each one's name: every engine gets the same. Returns how many there are."""
    count = 0
    for name, weight in model.named_parameters():
        owner = model.get_submodule(name.rpartition(".")[0])
        generator = torch.Generator(device=weight.device)
        generator.manual_seed(zlib.crc32(name.encode()))
        with torch.no_grad():
            if name.endswith("A_log"):                             # decay of the state layers
                weight.copy_(torch.empty_like(weight, dtype=torch.float32).uniform_(1, 16, generator=generator).log())
            elif name.endswith("dt_bias"):
                weight.fill_(1.0)
            elif weight.dim() < 2:                                 # norms, some of which add one themselves
                one = 0.0 if "Gemma" in type(owner).__name__ or name.endswith("bias") else 1.0
                weight.fill_(one + SHARP - 1.0 if name.endswith("q_norm.weight") else one)
            else:
                spread = 1.0 if "embed" in name else 1 / math.sqrt(weight.numel() / weight.shape[0])
                numbers = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=torch.float32)
                weight.copy_((numbers * spread).to(weight.dtype))
        count += 1
    return count
