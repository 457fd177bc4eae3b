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


def why_store_differs(mine: CacheView, theirs: CacheView, stored: int) -> str | None:
    """None when two caches hold the same after ``stored`` elements each of K and V were written, otherwise the worst of it.

    On a GPU triton's division is off by up to two units in the last place, here and in vLLM's writer alike: a scale may
    differ by as much from torch's, and a value on the edge between two codes may take the other one.
    """
    for name, a, b in (("K", mine.keys(), theirs.keys()), ("V", mine.values(), theirs.values())):
        code = {1: torch.uint8, 2: torch.int8}.get(mine.fmt, torch.int16)
        steps = (a.view(code).int() - b.view(code).int()).abs()
        most = 1 if mine.fmt in (FP8, INT8) and a.is_cuda else 0
        if int(steps.max()) > most or int((steps > 0).sum()) > stored * most / 1000:
            return f"{name}: {int((steps > 0).sum())} of {stored} codes differ, by up to {int(steps.max())}"
    if mine.fmt == INT8:
        for name, a, b in (("K", mine.key_scales(), theirs.key_scales()), ("V", mine.value_scales(), theirs.value_scales())):
            if not torch.allclose(a, b, rtol=2.0**-21 if a.is_cuda else 0.0, atol=0.0, equal_nan=True):
                return f"{name}: the scales differ"
    return None
