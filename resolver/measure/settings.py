"""What do all speed tools share? Which prompts, how many repeats, and which of them a server has room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resolver.measure import corpus
from resolver.measure.measurement import Condition, Measurement
from resolver.measure.report import Finding
from resolver.measure.statistics import mean_interval

ROOM = 64  # tokens kept free between prompt, answer and the longest context


@dataclass(frozen=True, slots=True)
class SpeedOptions:
    """How speed is measured.

    Attributes:
        contexts: prompt lengths, in tokens after the template.
        streams: how many requests at once.
        repeats: observations of each pair, after one that is thrown away.
        answer: tokens of each answer.
        tasks: what is asked: names of prompts.TASKS.
        seed: of all texts; each observation has a text of its own beneath it.
        longest: the server's longest context; 0 where it is not known.
    """

    contexts: tuple[int, ...] = (1024, 4096)
    streams: tuple[int, ...] = (1,)
    repeats: int = 5
    answer: int = 256
    tasks: tuple[str, ...] = ("summary",)
    seed: int = 1
    longest: int = 0

    def fits(self, context: int, answer: int) -> bool:
        """Whether a prompt and its answer have room."""
        return not self.longest or context + answer + ROOM <= self.longest

    def fitting(self, answer: int) -> tuple[int, ...]:
        """The contexts that have room for an answer."""
        return tuple(context for context in self.contexts if self.fits(context, answer))

    def left_out(self, answer: int, least: int = 0) -> tuple[Finding, ...]:
        """A finding for each context that has no room, or is shorter than a tool needs."""
        short = tuple(
            Finding(f"context {context}", "inconclusive", f"{context} tokens are too few here: {least} at least")
            for context in self.contexts
            if context < least
        )
        return short + tuple(
            Finding(
                f"context {context}",
                "inconclusive",
                f"{context} tokens and an answer of {answer} do not fit into the server's {self.longest}",
            )
            for context in self.contexts
            if not self.fits(context, answer)
        )


def conditions(options: SpeedOptions, **more: Condition) -> dict[str, Condition]:
    """The conditions that every number of a speed tool has."""
    return {"corpus": corpus.fingerprint(), "seed": options.seed, "sampling": "greedy", "thinking": False, **more}


def median(
    metric: str,
    unit: str,
    values: list[float],
    conditions: dict[str, Condition],
    method: str,
    version: int,
    why_unsound: str = "",
    **more: Any,
) -> Measurement:
    """A measurement that is the median of observations, with their range; its 95 % interval of the mean is a note."""
    from statistics import median as middle

    interval = mean_interval(values)
    notes = tuple(more.pop("notes", ()))
    if interval:
        notes += (f"mean {sum(values) / len(values):.4g}, 95 % interval {interval[0]:.4g} to {interval[1]:.4g}",)
    found = Measurement(
        metric,
        middle(values),
        unit,
        len(values),
        min(values),
        max(values),
        "min-max",
        conditions,
        method,
        version,
        True,
        notes,
    )
    return found.unsound(why_unsound) if why_unsound else found
