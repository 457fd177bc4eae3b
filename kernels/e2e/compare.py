# SPDX-License-Identifier: Apache-2.0
"""Two engines' greedy answers to the same prompts: where do they first differ, and is that explained by rounding?

At a step where both were given the same tokens so far, each engine has a lead: the log-probability of its likeliest token
less that of another one. Rounding moves leads. Where both chose alike, the move of the lead over the runner-up is seen;
where they differ, A's token a and B's token b, the move is (A's lead of a over b) + (B's lead of b over a). A first
difference is explained when its move is no larger than moves that were seen where both agreed: then it is a near-tie
that fell to the other side. A larger move is not explained.

    python -m e2e.compare FOLDER A B [--batch NAME]
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

UNSEEN = -1
"""Stands for the move where a token is not among the few whose log-probability was kept."""
PRECISION = 2e-4
"""Log-probabilities were written with five digits; a move is made of four of them."""


@dataclass
class Compared:
    """Answers compared: how many were the same, the moves where both agreed, and the first differences.

    differences: (prompt's place, step, move, A's token, B's token).
    """

    answers: int = 0
    same: int = 0
    steps: int = 0
    moves: list[float] = field(default_factory=list)
    differences: list[tuple[int, int, float, int, int]] = field(default_factory=list)

    def limit(self) -> float:
        """The largest move where both agreed."""
        return max(self.moves, default=0.0)

    def unexplained(self) -> list[tuple[int, int, float, int, int]]:
        """Differences whose move is larger than any that was seen, or unknown."""
        return [found for found in self.differences if found[2] == UNSEEN or found[2] > self.limit() + PRECISION]

    def mean(self) -> float:
        """The mean move: what tells two kernels from one that computes something else."""
        return sum(self.moves) / len(self.moves) if self.moves else 0.0

    def at(self, share: float) -> float:
        """The move below which this share of the moves is."""
        ordered = sorted(self.moves)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def lead(choices: list[list[float]], token: int, other: int) -> float | None:
    """How much likelier `token` is than `other`, in natural logarithms; None when one of them was not kept."""
    kept = {int(key): value for key, value in choices}
    return kept[token] - kept[other] if token in kept and other in kept else None


def compare(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> Compared:
    """Compare the answers in the form that `e2e.engine` writes. Only prompts that both answered in full are compared."""
    out = Compared()
    for place, (a, b) in enumerate(zip(first, second, strict=False)):
        if not a["tokens"] or len(a["tokens"]) != len(b["tokens"]):
            continue
        out.answers += 1
        differs = next((i for i, (x, y) in enumerate(zip(a["tokens"], b["tokens"], strict=True)) if x != y), None)
        agreed = len(a["tokens"]) if differs is None else differs
        out.same += differs is None
        out.steps += agreed
        for step in range(agreed):
            token = a["tokens"][step]
            runner = next((int(key) for key, _ in a["logprobs"][step] if int(key) != token), None)
            ours = None if runner is None else lead(a["logprobs"][step], token, runner)
            theirs = None if runner is None else lead(b["logprobs"][step], token, runner)
            if ours is not None and theirs is not None:
                out.moves.append(abs(ours - theirs))
        if differs is not None:
            x, y = a["tokens"][differs], b["tokens"][differs]
            ours, theirs = lead(a["logprobs"][differs], x, y), lead(b["logprobs"][differs], y, x)
            move = UNSEEN if ours is None or theirs is None else ours + theirs
            out.differences.append((place, differs, move, x, y))
    return out


def compare_forced(given: list[dict[str, Any]], asked: list[dict[str, Any]]) -> Compared:
    """Compare answers with what their text alone led to, step by step: `asked` as `e2e.engine` writes it."""
    out = Compared()
    for item in asked:
        answer, step = given[item["place"]], item["step"]
        one = {"tokens": [answer["tokens"][step]], "logprobs": [answer["logprobs"][step]]}
        found = compare([one], [item])
        out.answers += found.answers
        out.same += found.same
        out.steps += found.steps
        out.moves += found.moves
        out.differences += [(item["place"], step, move, x, y) for _, _, move, x, y in found.differences]
    return out


def read(folder: Path, name: str, batch: str) -> list[dict[str, Any]]:
    """The answers of one engine."""
    found: list[dict[str, Any]] = json.loads((folder / f"answers-{name}-{batch}.json").read_text(encoding="utf-8"))
    return found


def line(name: str, found: Compared) -> str:
    """One line of what was found."""
    return (f"{name}: {found.same} of {found.answers} answers the same, {found.steps} equal steps; moves where equal: median "
            f"{found.at(0.5):.4f}, 99 % {found.at(0.99):.4f}, largest {found.limit():.4f}; first differences "
            f"{len(found.differences)}, not explained {len(found.unexplained())}")


def main(words: list[str]) -> int:
    """Compare two engines in a folder, every batch both have. Returns 1 when a difference is not explained."""
    folder, a, b = Path(words[0]), words[1], words[2]
    batches = sorted(path.name.removeprefix(f"answers-{a}-").removesuffix(".json") for path in folder.glob(f"answers-{a}-*"))
    status = 0
    for batch in batches:
        if not (folder / f"answers-{b}-{batch}.json").exists():
            continue
        found = compare(read(folder, a, batch), read(folder, b, batch))
        print(line(f"{a} against {b}, {batch}", found))
        for place, step, move, x, y in found.unexplained():
            print(f"  not explained: prompt {place}, step {step}: {x} against {y}, move {move:.4f}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
