"""What does one observation of speed consist of? Requests of one moment, what came of them, and what the counters did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from resolver.measure import traffic
from resolver.measure.journal import Record
from resolver.measure.prompts import Prompt
from resolver.measure.report import Finding
from resolver.measure.server import Server
from resolver.measure.stream import Answer
from resolver.measure.together import together
from resolver.measure.verbatim import distinct_words

COLLAPSED = 0.2  # a text of which fewer than this share of the words are different ones repeats itself
BURST, SLACK = 0.6, 0.1  # how much of the engine's decode time a client must see, and seconds that do not matter
TOO_WIDE = 1.2  # drafts of a step over the speculator's width: such a count is no count of drafts


def observe(server: Server, prompts: Sequence[Prompt], limit: int, exact: bool = True) -> Record:
    """Ask all prompts at once. Returns what came, as the journal keeps it."""

    def call(prompt: Prompt) -> Callable[[], Answer]:
        return lambda: server.chat(prompt.messages, limit, exact)

    answers, window = traffic.watch(server, lambda: together([call(prompt) for prompt in prompts]))
    problems = [answer.problem or _miscounted(answer, prompt) for answer, prompt in zip(answers, prompts, strict=True)]
    return {
        "problem": next(filter(None, problems), ""),
        "prompt_tokens": [answer.prompt_tokens for answer in answers],
        "tokens": [answer.tokens for answer in answers],
        "cached": [answer.cached for answer in answers],
        "ttft": [answer.first - answer.sent for answer in answers],
        "rates": [rate(answer) for answer in answers],
        "together": together_rate(answers),
        "wall": max(answer.last for answer in answers) - min(answer.sent for answer in answers),
        "until_first": max(answer.first for answer in answers) - min(answer.sent for answer in answers),
        "distinct": min(distinct_words(answer.said) for answer in answers),
        "foreign": window.foreign or _bursts(answers, window.moved.get("decode_s")),
        "known": window.known,
        "steps": window.steps,
        "step_tokens": window.tokens,
        "drafted_per_step": window.drafted_per_step,
        "width": window.width,
        "preemptions": window.moved.get("preemptions", 0),
        "hits": window.moved.get("prefix_hits"),
    }


def _bursts(answers: Sequence[Answer], decoded: float | None) -> str:
    """Say when the answers did not reach this client as they were made: then its clock timed a buffer, not the engine."""
    seen = sum(answer.last - answer.first for answer in answers)
    if decoded is None or any(answer.problem for answer in answers):
        return ""
    if seen < BURST * decoded - SLACK or decoded < BURST * seen - SLACK * len(answers):
        return (
            f"the engine decoded for {decoded:.3g} s and this client saw {seen:.3g} s of it: one of the two was held up"
        )
    return ""


def _miscounted(answer: Answer, prompt: Prompt) -> str:
    if answer.prompt_tokens is not None and answer.prompt_tokens != prompt.tokens:
        return f"its usage says {answer.prompt_tokens} prompt tokens, and /tokenize counts {prompt.tokens}"
    return ""


def rate(answer: Answer) -> float:
    """Tokens a second after the first part; 0.0 where all came at once."""
    seconds = answer.last - answer.first
    if seconds <= 0 or not answer.tokens:
        return 0.0
    before = answer.marks[0][1] if answer.marks else 1  # with drafts the first part may hold several tokens
    return (answer.tokens - before) / seconds


def together_rate(answers: Sequence[Answer]) -> float:
    """Tokens a second of all streams, while every one of them was decoding; 0.0 where there was no such time.

    Where the server does not count while it streams, the sum of the streams' own rates.
    """
    if len(answers) == 1 or not all(len(answer.marks) > 1 for answer in answers):
        return sum(rate(answer) for answer in answers)
    began, ended = max(answer.first for answer in answers), min(answer.last for answer in answers)
    if ended <= began:
        return 0.0
    return sum(_by(answer, ended) - _by(answer, began) for answer in answers) / (ended - began)


def _by(answer: Answer, moment: float) -> int:
    return max((tokens for at, tokens in answer.marks if at <= moment), default=0)


def why_unsound(records: Sequence[Record], text: bool = True) -> str:
    """Why numbers from these observations are not to be recorded; empty where they may be.

    Args:
        records: the observations.
        text: whether their text is long enough to be looked at.
    """
    for record in records:
        if record["problem"]:
            return str(record["problem"])
        if record["foreign"]:
            return str(record["foreign"])
        if text and record["distinct"] < COLLAPSED:
            return f"the answer repeats itself ({record['distinct']:.0%} of its words are different ones)"
        if record["width"] and record["drafted_per_step"] > TOO_WIDE * record["width"]:
            return f"{record['drafted_per_step']:.1f} drafts a step were counted, and the speculator proposes {record['width']}"
    return ""


def findings(records: Sequence[Record], text: bool = True) -> tuple[Finding, ...]:
    """Say whether the answers were whole and sensible, and whether the server was ours alone."""
    if not records:
        return (Finding("answers", "inconclusive", "nothing was asked"),)
    broken = [record["problem"] for record in records if record["problem"]]
    found: list[Finding] = []
    details: dict[str, Any] = {"observations": len(records), "failed": len(broken)}
    if broken:
        found.append(Finding("answers", "broken", f"{len(broken)} of {len(records)} failed: {broken[0]}", details))
    else:
        found.append(Finding("answers", "clean", "every answer came whole", details))
    if text and not broken and (why := why_unsound([{**record, "foreign": ""} for record in records])):
        found.append(Finding("text", "inconclusive", f"{why}: drafts of such a text say nothing of others"))
    found.append(traffic.finding(records))
    return tuple(found)
