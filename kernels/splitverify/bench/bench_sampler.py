# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench.bench_sampler``: top-k and top-p of vLLM, of torch's sort, and in two stages.

What each leaves of the logits is compared before anything is timed. ``mask`` is vLLM's ``apply_top_k_top_p`` alone;
``sample`` goes on to a token: softmax, exponential noise and argmax over the vocabulary, or, in two stages, a draw among
the candidates.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from splitverify.bench import two_stage_sampler as two_stage

VOCAB = 248_320
ROWS = (1, 2, 4, 8, 16)
SETTINGS = (("top-k 20, top-p 0.95", 20, 0.95), ("top-k 50", 50, 1.0), ("top-p 0.95", None, 0.95))
Make = Callable[[torch.Tensor], torch.Tensor]


def logits_of(kind: str, rows: int, vocab: int, device: str) -> torch.Tensor:
    """fp32 logits: ``normal``, or ``peaked`` with thirty tokens a row well above the rest."""
    generator = torch.Generator(device=device).manual_seed(rows)
    x = torch.randn(rows, vocab, generator=generator, device=device) * 2.5
    if kind == "peaked":
        at = torch.randint(vocab, (rows, 30), generator=generator, device=device)
        x.scatter_add_(1, at, 5 + 10 * torch.rand(rows, 30, generator=generator, device=device))
    return x


def by_sort(logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None) -> torch.Tensor:
    """torch's way: sort, mask, scatter back. The formula of vLLM's PyTorch path."""
    values, index = logits.sort(dim=-1)
    if k is not None:
        kth = values.gather(1, (values.shape[1] - k.long())[:, None])
        values = values.masked_fill(values < kth, float("-inf"))
    if p is not None:
        drop = values.softmax(-1).cumsum(-1) <= 1 - p[:, None]
        drop[:, -1] = False
        values = values.masked_fill(drop, float("-inf"))
    return torch.empty_like(logits).scatter_(1, index, values)


def draw(logits: torch.Tensor) -> torch.Tensor:
    """A token from masked logits, as vLLM draws it."""
    probs = logits.softmax(-1)
    return probs.div_(torch.empty_like(probs).exponential_()).argmax(-1)


def ways(k: torch.Tensor | None, p: torch.Tensor | None) -> Iterator[tuple[str, Make, Make]]:
    """(name, mask, sample) of everything that can be had here."""
    yield "torch sort", lambda x: by_sort(x, k, p), lambda x: draw(by_sort(x, k, p))
    if k is not None:
        keep = 32 if int(k.max()) <= 32 else 64
        nucleus = torch.ones(k.shape, device=k.device) if p is None else p
        yield (f"two stages of {keep}", lambda x: two_stage.mask(x, k, nucleus, keep),
               lambda x: two_stage.candidates(x, k, nucleus, keep)[1])
    try:
        from vllm.v1.sample.ops.topk_topp_triton import apply_top_k_top_p_triton
    except ImportError as error:
        print(f"absent: vLLM: {error}")
        return
    yield "vLLM", lambda x: apply_top_k_top_p_triton(x, k, p), lambda x: draw(apply_top_k_top_p_triton(x, k, p))


def measure_sampler(timer: Any, rows: int, kind: str, setting: tuple[str, int | None, float], device: str = "cuda",
                    vocab: int = VOCAB) -> Iterator[dict[str, Any]]:
    """One record a way. The timed calls work on a fresh copy of the logits; the copy's own time is taken off."""
    name, top_k, top_p = setting
    k = None if top_k is None else torch.full((rows,), top_k, dtype=torch.int32, device=device)
    p = None if top_p == 1.0 else torch.full((rows,), top_p, device=device)
    source = logits_of(kind, rows, vocab, device)
    work = torch.empty_like(source)
    expected = by_sort(source, k, p)
    stays = torch.isfinite(expected)
    copying = timer(lambda: work.copy_(source), replays=20).median
    for way, mask, sample in ways(k, p):
        got = torch.isfinite(mask(source.clone()))
        token = sample(source.clone())
        differ = int((got != stays).sum())
        # Where the sum of probabilities reaches p depends on rounding: one logit a row, or one in a thousand of a wide nucleus.
        wrong = [] if differ <= rows + int(stays.sum()) // 1000 else [f"{differ} logits stay or go unlike torch's sort"]
        if not got.gather(1, token[:, None]).all():
            wrong.append("a token that was masked")

        def run(call: Make) -> float:
            return float(timer(lambda: call(work.copy_(source)), replays=20).median - copying)

        yield dict(rows=rows, logits=kind, setting=name, way=way, mask_us=run(mask), sample_us=run(sample), differ=differ,
                   wrong="; ".join(wrong) or None, copy_us=copying)


def sampler_table(records: list[dict[str, Any]]) -> str:
    """Markdown: one line a batch, mask and sample microseconds of each way."""
    names = list(dict.fromkeys(r["way"].split(" of ")[0] for r in records))
    head = ["sampling", "logits", "rows", *(f"{n}: {what}" for what in ("mask", "sample") for n in names)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key in dict.fromkeys((r["setting"], r["logits"], r["rows"]) for r in records):
        by = {r["way"].split(" of ")[0]: r for r in records if (r["setting"], r["logits"], r["rows"]) == key}
        cells = [(f"{by[n][what]:.0f}" + (" (wrong)" if by[n]["wrong"] else "")) if n in by else "–"
                 for what in ("mask_us", "sample_us") for n in names]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure and write ``sampler.jsonl`` and ``sampler.md``; 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.bench_sampler", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the records and the table")
    args = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("a benchmark needs a GPU, and torch finds none here", file=sys.stderr)
        return 2
    from splitverify.bench.timing import Timer

    timer = Timer()
    args.out.mkdir(parents=True, exist_ok=True)
    records = [r for setting in SETTINGS for kind in ("normal", "peaked") for rows in ROWS
               for r in measure_sampler(timer, rows, kind, setting)]
    (args.out / "sampler.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    text = sampler_table(records)
    (args.out / "sampler.md").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
