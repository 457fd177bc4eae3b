# SPDX-License-Identifier: Apache-2.0
"""Random verify batches with traps in them, and the tolerance they are judged by. Used by tests, doctor and benchmark.

Every slot that a request does not own holds NaN (or the code nearest to it), the null block too; so does the scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from splitverify.layout import FP8, FORMAT_NAMES, INT8, UNQUANTIZED, CacheView, content_size, view_cache
from splitverify.ops.quantize_store_ref import quantize_store_ref
from splitverify.ops.scratch import Scratch, allocate_scratch

FORMATS = {name: fmt for fmt, name in FORMAT_NAMES.items()}


@dataclass(frozen=True)
class Case:
    """One batch. ``lens`` are sequence lengths with the new tokens, ``q`` query lengths (0 is a padding row)."""

    fmt: str = "bf16"
    lens: tuple[int, ...] = (37,)
    q: tuple[int, ...] = (8,)
    num_heads: int = 24
    num_kv_heads: int = 4
    head_size: int = 256
    block_size: int = 16
    layout: str = "inline"
    head_major: bool = False
    page_padding: int = 0
    causal: bool = True
    window: int = 0
    outliers: bool = False
    extra_blocks: int = 3
    seed: int = 0

    def label(self) -> str:
        """A short name that says what is unusual."""
        base = Case()
        odd = [f"{k}={v}" for k, v in vars(self).items() if v != getattr(base, k) or k in ("fmt", "lens", "q")]
        return " ".join(odd)


@dataclass
class Batch:
    """The tensors of a case, arguments of ``verify_attention`` and its reference."""

    q: torch.Tensor
    cache: CacheView
    kv_cache: torch.Tensor
    block_table: torch.Tensor
    seq_lens: torch.Tensor
    query_start_loc: torch.Tensor
    out: torch.Tensor
    max_v: float
    kwargs: dict[str, object] = field(default_factory=dict)

    def args(self) -> tuple[torch.Tensor, CacheView, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The positional arguments that kernel and reference share."""
        return self.q, self.cache, self.block_table, self.seq_lens, self.query_start_loc


def empty_cache(case: Case, num_blocks: int, device: torch.device | str) -> torch.Tensor:
    """A pool ``[num_blocks, Hkv, block, content]`` of NaN, with the case's memory order and page padding (bytes)."""
    fmt = FORMATS[case.fmt]
    dtype = {UNQUANTIZED: torch.bfloat16, FP8: torch.uint8, INT8: torch.int8}[fmt]
    size = torch.empty(0, dtype=dtype).element_size()
    content = content_size(case.head_size, fmt)
    h, n = case.num_kv_heads, case.block_size
    page = h * n * content + case.page_padding // size
    raw = torch.full((num_blocks * page * size // 4,), float("nan"), dtype=torch.float32, device=device)
    pool = raw.view(torch.uint8).view(dtype)
    if fmt == FP8:
        pool.fill_(0x7F)                                           # the NaN code of e4m3
    elif fmt == UNQUANTIZED:
        pool.fill_(float("nan"))
    stride = (page, n * content, content, 1) if case.head_major else (page, content, h * content, 1)
    return pool.as_strided((num_blocks, h, n, content), stride)


def make_batch(case: Case, device: torch.device | str = "cpu") -> Batch:
    """Draw a batch. The pool's other blocks, unused slots, table entries and ``out`` are poisoned."""
    fmt = FORMATS[case.fmt]
    g = torch.Generator(device=device).manual_seed(case.seed)
    pages = [-(-n // case.block_size) for n in case.lens]
    num_blocks = sum(pages) + case.extra_blocks + 1
    kv_cache = empty_cache(case, num_blocks, device)
    cache = view_cache(kv_cache, case.head_size, fmt, case.layout)
    order = (torch.randperm(num_blocks - 1, generator=g, device=device) + 1).tolist()      # block 0 is vLLM's null block
    table = torch.full((len(case.lens), max([*pages, 1]) + 1), 2**30, dtype=torch.int32)
    k_scale = v_scale = None
    if fmt == FP8:
        k_scale = torch.tensor([0.013], device=device)
        v_scale = torch.tensor([0.007], device=device)
    max_v = 0.0
    for r, n in enumerate(case.lens):
        mine = [order.pop() for _ in range(pages[r])]
        table[r, :pages[r]] = torch.tensor(mine, dtype=torch.int32)
        k = torch.randn(n, case.num_kv_heads, case.head_size, generator=g, device=device)
        v = torch.randn(n, case.num_kv_heads, case.head_size, generator=g, device=device)
        if case.outliers:
            k[..., 3] += 6.0
            k[..., 7] *= 5.0
            v[n // 2:] *= 1e-3
        pos = torch.arange(n)
        slots = torch.tensor(mine, dtype=torch.int64)[pos // case.block_size] * case.block_size + pos % case.block_size
        first = max(0, n - case.q[r] - case.window) if case.window else 0
        freed = first // case.block_size                           # pages behind the window are the null block
        table[r, :freed] = 0
        slots[:freed * case.block_size] = -1
        quantize_store_ref(k.bfloat16(), v.bfloat16(), cache, slots.to(device), k_scale, v_scale)
        max_v = max(max_v, v.abs().max().item() if n else 0.0)
    tokens = sum(case.q)
    # q is a slice of a fused projection: its strides are not those of a tensor of its own.
    fused = torch.randn(tokens, case.num_heads + 2 * case.num_kv_heads, case.head_size, generator=g, device=device).bfloat16()
    q = fused[:, :case.num_heads]
    starts = torch.tensor([0, *case.q]).cumsum(0).int()
    kwargs: dict[str, object] = dict(scale=case.head_size ** -0.5, causal=case.causal, window=case.window)
    if fmt == FP8:
        kwargs.update(k_scale=k_scale, v_scale=v_scale)
    out = torch.full((tokens, case.num_heads, case.head_size), float("nan"), dtype=torch.bfloat16, device=device)
    return Batch(q, cache, kv_cache, table.to(device), torch.tensor(case.lens, dtype=torch.int32, device=device),
                 starts.to(device), out, max_v, kwargs)


def poisoned_scratch(max_tokens: int, num_heads: int, head_size: int, segments: int,
                     device: torch.device | str = "cpu") -> Scratch:
    """A workspace full of NaN: what nobody wrote must not be read."""
    scratch = allocate_scratch(max_tokens, num_heads, head_size, segments, device)
    scratch.acc.fill_(float("nan"))
    scratch.ml.fill_(float("nan"))
    return scratch


def why_wrong(out: torch.Tensor, ref: torch.Tensor, max_v: float, cosine: float = 0.99999) -> str | None:
    """None when ``out`` is within tolerance of ``ref`` (float32 ``[T, Hq, D]``), otherwise the worst of it.

    |err| <= 2**-8 |ref| + 2**-8 max|V| for each element, and cosine >= ``cosine`` for each row.
    """
    out = out.float()
    if not torch.isfinite(out).all():
        return f"{(~torch.isfinite(out)).sum().item()} values are not finite"
    err = (out - ref).abs()
    excess = (err - 2.0 ** -8 * (ref.abs() + max_v)).max().item()
    cos = torch.nn.functional.cosine_similarity(out.double(), ref.double(), dim=-1).min().item()
    if excess > 0 or cos < cosine:
        return f"largest error {err.max().item():.3g} ({excess:.3g} above the bound), lowest cosine {cos:.7f}"
    return None
