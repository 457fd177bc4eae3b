# SPDX-License-Identifier: Apache-2.0
"""What is asked when answers are compared: the same prompts, drawn from seeds, for every engine. No torch, no vLLM."""

from __future__ import annotations

import random
from dataclasses import dataclass

TEXT_TOKENS = 250
RESIDUES = 128
CACHED_FROM = 1800
"""Tokens of a prompt whose beginning the engine keeps for the next: two blocks of up to 900 tokens."""


@dataclass(frozen=True)
class Batch:
    """Prompts that are answered in one go. `at_once` is how many are handed over at a time."""

    name: str
    prompts: tuple[tuple[int, ...], ...]
    tokens: int
    at_once: int


def text(seed: int, tokens: int) -> tuple[int, ...]:
    """Random tokens; a longer text of the same seed begins with a shorter one."""
    return tuple(random.Random(seed).choices(range(TEXT_TOKENS), k=tokens))


def mixed(count: int = 200) -> Batch:
    """Prompts of 20 to 6,000 tokens, eight at once: as one ends the next begins, so prefills run beside decodes.

    Every fifth one is an earlier prompt of at least two blocks with more behind it, so that it begins in the prefix cache.
    """
    draw = random.Random(1)
    prompts: list[tuple[int, ...]] = []
    for number in range(count):
        length = int(20 * 300 ** draw.random())
        if number % 5 == 4:
            earlier = [prompt for prompt in prompts if len(prompt) >= CACHED_FROM] or prompts
            prompts.append(draw.choice(earlier[-20:]) + text(10_000 + number, draw.randrange(1, 300)))
        else:
            prompts.append(text(1000 + number, length))
    return Batch("mixed", tuple(prompts), 24, 8)


def residues(block: int) -> tuple[Batch, Batch]:
    """Prompts of every length from 64 below to 63 above three blocks, all beginnings of one text; the same ones twice.

    So every remainder of a length by 128 occurs, on both sides of a block's end; and with one block or two in the cache.
    """
    document = text(2, 3 * block + RESIDUES)
    first = 3 * block - RESIDUES // 2
    prompts = tuple(document[:length] for length in range(first, first + RESIDUES))
    return Batch("residues", prompts, 8, 8), Batch("residues-again", prompts, 8, 8)


def crowded(block: int) -> Batch:
    """Prompts that fill most of one block, and answers of three: requests that were let in together outgrow a small pool."""
    return Batch("crowded", tuple(text(3000 + number, block - 26) for number in range(8)), 3 * block, 8)


FORCED = 12
"""Steps of each answer that are asked for again."""
TAKEN_IN = (0, 1, 2, 5, 11)
"""Steps behind each place where a request was taken in again that are asked for too."""


def forced(batch: Batch, tokens: list[list[int]], pauses: list[list[int]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """For steps spread over each answer and those behind its pauses: (prompt's place, step, the prompt with the answer up to that step).

    What a request that was turned out and taken in again goes on with must be what its text alone leads to.
    """
    out = []
    for place, (prompt, answer, places) in enumerate(zip(batch.prompts, tokens, pauses, strict=True)):
        steps = {(2 * number + 1) * len(answer) // (2 * FORCED) for number in range(FORCED)}
        steps |= {step + more for step in places for more in TAKEN_IN if step + more < len(answer)}
        out += [(place, step, (*prompt, *answer[:step])) for step in sorted(steps)]
    return out


def long_ones(count: int = 8) -> Batch:
    """Long prompts, four at once, each followed by its own beginning: decodes of very unlike lengths replay one graph."""
    lengths = [30_000, 900, 17_000, 200, 24_000, 5_000, 12_000, 60][:count]
    return Batch("unlike-lengths", tuple(text(4000 + number, length) for number, length in enumerate(lengths)), 40, 4)
