# SPDX-License-Identifier: Apache-2.0
"""K2 against its reference: the same bytes, whole pool, nothing else touched."""

from __future__ import annotations

import pytest
import torch

from splitverify.cases import FORMATS, Case, empty_cache
from splitverify.layout import view_cache
from splitverify.ops.quantize_store import quantize_store
from splitverify.ops.quantize_store_ref import quantize_fp8, quantize_int8, quantize_store_ref

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def both(fmt: str, layout: str, key: torch.Tensor, value: torch.Tensor, slots: torch.Tensor, head_size: int = 128,
         **fields: object) -> tuple[torch.Tensor, torch.Tensor]:
    """The pool's bytes after the kernel and after the reference."""
    case = Case(fmt=fmt, layout=layout, num_kv_heads=key.shape[1], head_size=head_size, block_size=16,
                **fields)  # type: ignore[arg-type]
    pools = []
    for store in (quantize_store, quantize_store_ref):
        pool = empty_cache(case, 4, DEVICE)
        scales = (torch.tensor([0.02], device=DEVICE), torch.tensor([0.5], device=DEVICE))
        store(key, value, view_cache(pool, head_size, FORMATS[fmt], layout), slots, *scales)
        base = pool.as_strided((pool.untyped_storage().nbytes() // pool.element_size(),), (1,), 0)
        pools.append(base.view(torch.uint8).clone())
    return pools[0], pools[1]


@pytest.mark.parametrize("head_size", [128, 256])
@pytest.mark.parametrize(("fmt", "layout"), [("bf16", "inline"), ("fp8", "inline"), ("int8", "inline"),
                                             ("int8", "planar")])
@pytest.mark.parametrize("fields", [{}, {"head_major": True}, {"page_padding": 1024}], ids=["plain", "head-major", "padded"])
def test_bytes(fmt: str, layout: str, head_size: int, fields: dict[str, object]) -> None:
    g = torch.Generator().manual_seed(3)
    fused = torch.randn(7, 4, head_size, generator=g).bfloat16().to(DEVICE)        # K and V are slices of one tensor
    fused[0, 0] = 0                                                                # the smallest scale
    fused[1, 1, 5] = 3e4                                                           # saturates fp8
    fused[2, 2] = torch.arange(head_size) % 255 - 127.5                            # halves
    slots = torch.tensor([17, 3, -1, 63, 0, 31], device=DEVICE)                    # one fewer than tokens
    mine, reference = both(fmt, layout, fused[:, :2], fused[:, 2:], slots, head_size, **fields)
    assert torch.equal(mine, reference)


def test_fp8_of_every_bf16_number() -> None:
    bits = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    bits = torch.where(torch.isnan(bits), torch.zeros_like(bits), bits).view(2, 256, 128).transpose(0, 1).to(DEVICE)
    case = Case(fmt="fp8", num_kv_heads=2, head_size=128, block_size=256)
    pool = empty_cache(case, 1, DEVICE)
    cache = view_cache(pool, 128, FORMATS["fp8"])
    one = torch.ones(1, device=DEVICE)
    quantize_store(bits, bits, cache, torch.arange(256, device=DEVICE), one, one)
    assert torch.equal(cache.keys()[0], quantize_fp8(bits, one))


def test_int8_rounds_half_away_from_zero() -> None:
    x = torch.zeros(128)
    x[:4] = torch.tensor([127.0, 0.5, -0.5, 2.5])
    y, scale = quantize_int8(x[None])
    assert scale.item() == 1.0 and y[0, :4].tolist() == [127, 1, -1, 3]


def test_refuses() -> None:
    case = Case(fmt="fp8", num_kv_heads=2, head_size=128)
    cache = view_cache(empty_cache(case, 2, DEVICE), 128, FORMATS["fp8"])
    x = torch.zeros(3, 2, 128, device=DEVICE)
    slots = torch.zeros(3, dtype=torch.int64, device=DEVICE)
    with pytest.raises(ValueError, match="needs k_scale"):
        quantize_store(x, x, cache, slots)
    with pytest.raises(ValueError, match="cache holds"):
        quantize_store(x[:, :1], x[:, :1], cache, slots)
    with pytest.raises(ValueError, match="no more slots than tokens"):
        quantize_store(x[:1], x[:1], cache, slots, x, x)
