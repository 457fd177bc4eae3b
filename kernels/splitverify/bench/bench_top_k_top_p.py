# SPDX-License-Identifier: Apache-2.0
"""``python -m splitverify.bench.bench_top_k_top_p``: top-k and top-p of vLLM, of torch's sort, and ours.

What each leaves of the logits is compared before anything is timed. ``mask`` is vLLM's ``apply_top_k_top_p`` alone;
``sample`` goes on to a token: softmax, exponential noise and argmax over the vocabulary. ``splitverify`` is our kernel and,
where vLLM is installed, vLLM's after it on what is left, as the plugin runs them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from splitverify.ops.top_k_top_p import MOST, top_k_top_p
from splitverify.ops.top_k_top_p_ref import top_k_top_p_ref
from splitverify.plugin.sampler import with_ours

VOCAB = 248_320
ROWS = (1, 2, 4, 8, 16)
SETTINGS = (("top-k 20, top-p 0.95", 20, 0.95), ("top-k 50", 50, 1.0), ("top-p 0.95", None, 0.95))
Mask = Callable[[torch.Tensor], torch.Tensor]


def logits_of(kind: str, rows: int, vocab: int, device: str) -> torch.Tensor:
    """fp32 logits: ``normal``, or ``peaked`` with thirty tokens a row well above the rest."""
    generator = torch.Generator(device=device).manual_seed(rows)
    x = torch.randn(rows, vocab, generator=generator, device=device) * 2.5
    if kind == "peaked":
        at = torch.randint(vocab, (rows, 30), generator=generator, device=device)
        x.scatter_add_(1, at, 5 + 10 * torch.rand(rows, 30, generator=generator, device=device))
    return x


def draw(logits: torch.Tensor) -> torch.Tensor:
    """A token from masked logits, as vLLM draws it."""
    probs = logits.softmax(-1)
    return probs.div_(torch.empty_like(probs).exponential_()).argmax(-1)


def alone(logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None) -> torch.Tensor:
    """What stands in for vLLM's kernel where it is not installed: nothing, if nothing is left."""
    return logits


def ways(k: torch.Tensor | None, p: torch.Tensor | None) -> Iterator[tuple[str, Mask]]:
    """(name, masking call) of everything that can be had here."""
    yield "torch sort", lambda x: top_k_top_p_ref(x, k, p)
    try:
        from vllm.v1.sample.ops.topk_topp_triton import apply_top_k_top_p_triton as theirs
    except ImportError as error:
        print(f"absent: vLLM: {error}")
        theirs = alone
    if k is not None and int(k.max()) <= MOST:
        yield "splitverify", lambda x: with_ours(theirs)(x, k, p)
        yield "splitverify alone", lambda x: (top_k_top_p(x, k, p), x)[1]
    if theirs is not alone:
        yield "vLLM", lambda x: theirs(x, k, p)


def measure_sampler(timer: Any, rows: int, kind: str, setting: tuple[str, int | None, float], device: str = "cuda",
                    vocab: int = VOCAB) -> Iterator[dict[str, Any]]:
    """One record a way. The timed calls work on a fresh copy of the logits; the copy's own time is taken off."""
    name, top_k, top_p = setting
    k = None if top_k is None else torch.full((rows,), top_k, dtype=torch.int32, device=device)
    p = None if top_p == 1.0 else torch.full((rows,), top_p, device=device)
    source = logits_of(kind, rows, vocab, device)
    work = torch.empty_like(source)
    expected = top_k_top_p_ref(source, k, p)
    stays = torch.isfinite(expected)
    copying = timer(lambda: work.copy_(source), replays=20).median
    for way, mask in ways(k, p):
        got = torch.isfinite(mask(source.clone()))
        token = draw(mask(source.clone()))
        differ = int((got != stays).sum())
        # Where the sum of probabilities reaches p depends on rounding: one logit a row, or one in a thousand of a wide nucleus.
        wrong = [] if differ <= rows + int(stays.sum()) // 1000 else [f"{differ} logits stay or go unlike torch's sort"]
        if not got.gather(1, token[:, None]).all():
            wrong.append("a token that was masked")

        def run(call: Mask) -> float:
            return float(timer(lambda: call(work.copy_(source)), replays=20).median - copying)

        yield dict(rows=rows, logits=kind, setting=name, way=way, mask_us=run(mask),
                   sample_us=run(lambda x, mask=mask: draw(mask(x))), differ=differ,
                   wrong="; ".join(wrong) or None, copy_us=copying)


def sampler_table(records: list[dict[str, Any]]) -> str:
    """Markdown: one line a batch, mask and sample microseconds of each way."""
    names = list(dict.fromkeys(r["way"] for r in records))
    head = ["sampling", "logits", "rows", *(f"{n}: {what}" for what in ("mask", "sample") for n in names)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for key in dict.fromkeys((r["setting"], r["logits"], r["rows"]) for r in records):
        by = {r["way"]: r for r in records if (r["setting"], r["logits"], r["rows"]) == key}
        cells = [(f"{by[n][what]:.0f}" + (" (wrong)" if by[n]["wrong"] else "")) if n in by else "–"
                 for what in ("mask_us", "sample_us") for n in names]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure and write ``sampler.jsonl`` and ``sampler.md``; 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m splitverify.bench.bench_top_k_top_p", description=__doc__)
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
