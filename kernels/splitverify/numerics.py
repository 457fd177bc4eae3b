# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.numerics``: what each way to store K and V and to multiply them costs in accuracy, on the CPU.

Emulates in plain torch what the kernels compute: the cache's rounding, the operands' rounding, fp16 or fp32 sums. First
one layer against float64 on four kinds of data; then a small model with random weights from end to end: how often its most
likely token changes. Prints the tables of docs/kernels/numerics.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from splitverify.ops.prefill_attention_ref import rounded_rows, smoothed_rows


@dataclass(frozen=True)
class Way:
    """A cache format (``exact``, ``bf16``, ``fp8``, ``int8``), a way to multiply, and whether a tile is summed in fp16."""

    cache: str
    scores: str
    sum16: bool = False

    def label(self) -> str:
        """As the tables show it."""
        return f"{self.cache} cache, {self.scores} scores{', fp16 sums' if self.sum16 else ''}"


WAYS = (Way("bf16", "plain"), Way("bf16", "int8"), Way("bf16", "int8", True), Way("fp8", "plain"), Way("fp8", "int8"),
        Way("int8", "plain"), Way("int8", "exact8"), Way("int8", "exact8", True), Way("int8", "int8"))


def cached(x: torch.Tensor, fmt: str) -> tuple[torch.Tensor, torch.Tensor]:
    """What the cache holds of fp32 rows ``[..., D]``, and the factor ``[..., 1]`` that makes values of it."""
    one = torch.ones(*x.shape[:-1], 1)
    if fmt == "int8":
        scale = (x.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-6)
        y = x / scale
        return torch.where(y >= 0, y + 0.5, y - 0.5).trunc().clamp(-128, 127), scale
    if fmt == "fp8":
        scale = float(x.abs().max()) / 448
        return (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn).float(), one * scale
    return (x.bfloat16().float() if fmt == "bf16" else x), one


def two_terms(q: torch.Tensor) -> torch.Tensor:
    """q in two int8 terms, as ``exact8`` scores have it."""
    step = q.abs().amax(-1, keepdim=True).clamp_min(1e-20) / 127
    high = torch.round(q / step)
    return (high + torch.round((q / step - high) * 254) / 254) * step


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, way: Way, see: torch.Tensor | None = None,
              tile: int = 64) -> torch.Tensor:
    """fp32 ``q [..., T, D]`` over ``k, v [..., L, D]`` as the kernels compute it. ``see`` masks, bool ``[T, L]``."""
    k8, k_scale = cached(k, way.cache)
    v8, v_scale = cached(v, way.cache)
    half = torch.bfloat16 if way.cache == "bf16" and not way.sum16 else torch.float16
    if way.cache == "exact":
        s = q @ k.transpose(-1, -2)
    elif way.scores == "plain":
        s = q.to(half).float() @ (k8 * k_scale if way.cache == "bf16" else k8).transpose(-1, -2)
        s = s if way.cache == "bf16" else s * k_scale.transpose(-1, -2)
    elif way.cache == "int8":
        s = (two_terms(q) if way.scores == "exact8" else rounded_rows(q)) @ k8.transpose(-1, -2) * k_scale.transpose(-1, -2)
    else:
        keys = k8 * k_scale
        flat = keys.reshape(-1, *keys.shape[-2:]).transpose(0, 1)                      # [L, heads, D]
        keys = smoothed_rows(flat).transpose(0, 1).reshape(keys.shape)
        s = rounded_rows(q) @ keys.transpose(-1, -2)
    s = s * q.shape[-1] ** -0.5
    if see is not None:
        s = s.masked_fill(~see, float("-inf"))
    p = torch.exp(s - s.amax(-1, keepdim=True))
    total = p.sum(-1, keepdim=True)
    if way.cache == "exact":
        return p @ v / total
    # The V scale of a key goes into its weight, relative to the largest, so that the weight is at most 1.
    top = v_scale.amax(-2, keepdim=True)
    p = (p * (v_scale / top).transpose(-1, -2)).to(half).float()
    if not way.sum16:
        return p @ v8 * top / total
    out = torch.zeros(*q.shape[:-1], v.shape[-1])
    for t in range(0, v.shape[-2], tile):
        part = torch.zeros_like(out, dtype=torch.float16)
        for u in range(t, min(t + tile, v.shape[-2]), 16):         # a matrix instruction adds 16 products
            part = (part.float() + p[..., u:u + 16] @ v8[..., u:u + 16, :]).half()
        out += part.float()
    return out * top / total


def data(kind: str, length: int = 8192, rows: int = 48, size: int = 256) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q ``[rows, size]``, k and v ``[length, size]`` of a kind, bf16 values as fp32."""
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(n, size, generator=g) for n in (rows, length, length))
    if kind in ("outliers", "peaked"):
        k[:, 5] += 8
        k[:, 77] -= 5
        k[:, 130] *= 6
        v[:, 9] *= 5
    if kind == "peaked":
        q = q * 3
        k = k + 1.5 * torch.randn(1, size, generator=g)
    if kind == "RMS-normed":                                       # with a weight, as a q/k norm leaves it
        wq, wk = (torch.rand(size, generator=g) * 2 + 0.2 for _ in range(2))
        k = k + 0.5 * torch.randn(1, size, generator=g)
        q, k = (x / x.pow(2).mean(-1, keepdim=True).sqrt() * w for x, w in ((q, wq), (k, wk)))
    return q.bfloat16().float(), k.bfloat16().float(), v.bfloat16().float()


def layer_lines(kinds: tuple[str, ...] = ("normal", "RMS-normed", "outliers", "peaked"), **sizes: int) -> Iterator[str]:
    """The first table: largest error against float64 on what the cache holds, and relative error on the unrounded K and V."""
    yield "| data | cache and scores | largest error, same cache | relative error, same cache | relative error, exact K and V |"
    yield "|---|---|---|---|---|"
    for kind in kinds:
        q, k, v = data(kind, **sizes)

        def exact(k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            s = q.double() @ k.double().T / q.shape[-1] ** 0.5     # noqa: B023
            return torch.softmax(s, -1) @ v.double()

        truth = exact(k, v)
        top = float(torch.softmax(q.double() @ k.double().T / q.shape[-1] ** 0.5, -1).max())
        for way in WAYS:
            (k8, ks), (v8, vs) = cached(k, way.cache), cached(v, way.cache)
            same = exact(k8.double() * ks, v8.double() * vs)
            out = attention(q, k, v, way).double()
            yield (f"| {kind} (largest weight {top:.2f}) | {way.label()} | {(out - same).abs().max():.1e} | "
                   f"{(out - same).norm() / same.norm():.1e} | {(out - truth).norm() / truth.norm():.1e} |")


class Model:
    """A small decoder with random weights: RMS norms, rotary positions, q/k norms, grouped queries, gated MLP."""

    def __init__(self, layers: int = 6, width: int = 512, heads: int = 8, kv_heads: int = 2, size: int = 128,
                 vocab: int = 8192, seed: int = 0) -> None:
        g = torch.Generator().manual_seed(seed)

        def weight(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=g) / shape[0] ** 0.5

        self.heads, self.kv_heads, self.size = heads, kv_heads, size
        self.embed = torch.randn(vocab, width, generator=g)
        self.out = weight(width, vocab)
        self.layers = [dict(q=weight(width, heads * size), k=weight(width, kv_heads * size), v=weight(width, kv_heads * size),
                            o=weight(heads * size, width), up=weight(width, 4 * width), gate=weight(width, 4 * width),
                            down=weight(4 * width, width), qn=torch.rand(size, generator=g) * 2 + 0.2,
                            kn=torch.rand(size, generator=g) * 2 + 0.2) for _ in range(layers)]

    @staticmethod
    def norm(x: torch.Tensor) -> torch.Tensor:
        """RMS norm without a weight."""
        return x / x.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        """Rotary positions on ``[heads, T, size]``."""
        half = self.size // 2
        angle = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def logits(self, tokens: torch.Tensor, way: Way) -> torch.Tensor:
        """fp32 ``[T, vocab]``; everything but the attention is fp32."""
        x = self.embed[tokens]
        see = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()
        for w in self.layers:
            h = self.norm(x)
            q, k, v = (torch.unflatten(h @ w[n], 1, (-1, self.size)).transpose(0, 1) for n in "qkv")
            q, k = self.rotate(self.norm(q) * w["qn"]), self.rotate(self.norm(k) * w["kn"])
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, 0) for t in (k, v))
            if way.cache != "exact":
                q, k, v = (t.bfloat16().float() for t in (q, k, v))
            x = x + attention(q, k, v, way, see).transpose(0, 1).flatten(1) @ w["o"]
            h = self.norm(x)
            x = x + (torch.nn.functional.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
        return self.norm(x) @ self.out


def model_lines(length: int = 1024, seeds: int = 3, **sizes: int) -> Iterator[str]:
    """The second table: positions whose most likely token changes, of random prompts through models of random weights."""
    yield "| cache and scores | other first token than fp32 | than plain scores on the same cache | largest change of a log-probability |"
    yield "|---|---|---|---|"
    found: dict[Way, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    for seed in range(seeds):
        model = Model(seed=seed, **sizes)
        tokens = torch.randint(len(model.embed), (length,), generator=torch.Generator().manual_seed(seed))
        truth = model.logits(tokens, Way("exact", "plain")).log_softmax(-1)
        plain: dict[str, torch.Tensor] = {}
        for way in WAYS:
            got = model.logits(tokens, way).log_softmax(-1)
            same = plain.setdefault(way.cache, got)                # plain comes first of each cache
            found[way].append((float((got.argmax(-1) != truth.argmax(-1)).float().mean()),
                               float((got.argmax(-1) != same.argmax(-1)).float().mean()), float((got - same).abs().max())))
    for way, seen in found.items():
        first, second, third = (torch.tensor(column) for column in zip(*seen))
        yield f"| {way.label()} | {first.mean():.2%} | {second.mean():.2%} | {third.max():.3f} |"


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(prog="python -m splitverify.numerics", description=__doc__).parse_args()
    torch.set_num_threads(1)
    print("\n".join(layer_lines()), end="\n\n")
    print("\n".join(model_lines()))


if __name__ == "__main__":
    main()
