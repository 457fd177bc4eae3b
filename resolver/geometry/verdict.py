"""Fits, tight, does not fit, or unknown: need against have, with the band of both."""

from __future__ import annotations

from typing import Literal, NamedTuple

from resolver.geometry.budget import GIB, Card, Load, free, memory, parts, total
from resolver.geometry.data import Band, Knowledge
from resolver.geometry.pool import numbers
from resolver.geometry.shapes import Setup

Answer = Literal["fits", "tight", "does not fit", "unknown"]
ORDER: tuple[Answer, ...] = ("fits", "tight", "unknown", "does not fit")
"""From the best to the worst: what does not fit in one respect does not fit."""


class Question(NamedTuple):
    """One respect in which it must fit. Bands in GiB of one GPU; None is unknown."""

    name: str
    answer: Answer
    need: Band | None
    have: Band | None
    why: str

    @property
    def margin(self) -> tuple[float, float] | None:
        """The least and the most that is left over, in GiB."""
        if self.need is None or self.have is None:
            return None
        return self.have.low - self.need.high, self.have.high - self.need.low


class Verdict(NamedTuple):
    """The worst answer of all questions, and the pool in GiB as far as it is known."""

    answer: Answer
    questions: tuple[Question, ...]
    pool: Band | None


def compare(name: str, need: Band | None, have: Band | None, why: str) -> Question:
    """Fits when the worst case does, does not when the best case does not."""
    if need is None or have is None:
        return Question(name, "unknown", need, have, why)
    answer: Answer = "fits" if need.high <= have.low else "does not fit" if need.low > have.high else "tight"
    return Question(name, answer, need, have, why)


def judge(known: Knowledge, setup: Setup, load: Load | None, card: Card | None, share: float | None) -> Verdict:
    """The verdict. `setup.pool_bytes` is the pin, if there is one; else `share` of the card, less what else is there, is the pool."""
    need = exactly(numbers(setup)["request_bytes"] / GIB, "arithmetic")
    beside = parts(known, load) if load else None
    if setup.pool_bytes is not None:
        pool = exactly(setup.pool_bytes / GIB, "the pin")
        asked = [compare("one request in the pool", need, pool, "exact: the engine refuses to start otherwise")]
        if card is not None and load is not None:
            sum_ = total(beside) if beside else None
            all_ = Band(sum_.low + pool.low, sum_.high + pool.high, "sum") if sum_ else None
            there = compare("all of it on the card", all_, free(known, card), "the pin is taken whatever else is there")
            asked.append(_spilling(there) if card.wsl else there)
        return _worst(asked, pool)
    if card is None or beside is None or share is None:
        why = "nothing is known of the card" if card is None else "the weights are not known"
        return _worst([Question("one request in the pool", "unknown", need, None, why)], None)
    whole, sum_ = memory(known, card), total(beside)
    taken = whole.times(share)
    pool = Band(taken.low - sum_.high, taken.high - sum_.low, "GPU_UTIL of the card, less the rest")
    return _worst(
        [
            compare(
                "one request in the pool",
                need,
                pool,
                "the pool is what GPU_UTIL leaves; a cold compile cache leaves the low end",
            ),
            compare(
                "GPU_UTIL of the card, free at the start",
                taken,
                _with_slack(free(known, card), whole, share),
                "the engine refuses to start otherwise",
            ),
            _after(known, whole, share),
        ],
        pool,
    )


def exactly(value: float, source: str) -> Band:
    """A number without a band."""
    return Band(value, value, source)


def _spilling(question: Question) -> Question:
    """Under WSL what finds no room on the card goes to host memory: it starts, and is slow, so it never refuses."""
    if question.answer != "does not fit":
        return question
    why = "WSL moves to host memory what finds no room on the card: it starts, and slows"
    return Question(question.name, "tight", question.need, question.have, why)


def _with_slack(there: Band, whole: Band, share: float) -> Band:
    """Free memory as compared with a share of the same card: the band of the card itself is in both, and is taken out."""
    return Band(max(there.low, there.low + (whole.high - whole.low) * share), there.high, there.source, there.figures)


def _after(known: Knowledge, whole: Band, share: float) -> Question:
    """What GPU_UTIL leaves, against what a burst of prompts takes beyond the profile. It never refuses: it warns."""
    left = whole.times(1 - share)
    question = compare(
        "a burst of prompts in what GPU_UTIL leaves", known.after_profile, left, known.after_profile.source
    )
    if question.answer == "does not fit":
        return Question(question.name, "tight", question.need, question.have, question.why)
    return question


def _worst(asked: list[Question], pool: Band | None) -> Verdict:
    return Verdict(max((q.answer for q in asked), key=ORDER.index), tuple(asked), pool)
