# SPDX-License-Identifier: Apache-2.0
"""K2 in plain torch."""

from __future__ import annotations

import torch

from splitverify.layout import FP8, INT8, CacheView

FP8_MAX = 448.0
MIN_SCALE = 1e-6


def quantize_int8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(int8 like ``x``, fp32 scale per row): symmetric per-row int8 over the last dimension.

    scale = max(max|x| / 127, 1e-6); the value is x * (1 / scale), rounded half away from zero, clamped to [-128, 127].
    """
    x = x.float()
    scale = (x.abs().amax(-1) / 127.0).clamp_min(MIN_SCALE)
    y = x * (1.0 / scale)[..., None]
    y = torch.where(y >= 0, y + 0.5, y - 0.5).clamp(-128.0, 127.0)
    return y.to(torch.int8), scale                                 # conversion truncates


def quantize_fp8(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """e4m3 bytes (uint8) of ``x / scale``, saturating at 448, round to nearest even."""
    return (x.float() / scale.float()).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn).view(torch.uint8)


def quantize_store_ref(key: torch.Tensor, value: torch.Tensor, cache: CacheView, slot_mapping: torch.Tensor,
                       k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None) -> None:
    """Same arguments and meaning as ``quantize_store``."""
    keep = slot_mapping >= 0
    slots = slot_mapping[keep]
    blocks, offsets = slots // cache.block_size, slots % cache.block_size
    for x, rows, scale, which in ((key, cache.keys(), k_scale, "key_scales"),
                                  (value, cache.values(), v_scale, "value_scales")):
        x = x[:slot_mapping.shape[0]][keep]                        # there may be fewer slots than tokens
        if cache.fmt == INT8:
            y, s = quantize_int8(x)
            getattr(cache, which)()[blocks, offsets] = s
        elif cache.fmt == FP8:
            assert scale is not None
            y = quantize_fp8(x, scale)
        else:
            y = x.to(rows.dtype)
        rows[blocks, offsets] = y
