"""Is a sentence found again wherever it stands? Several in one long text, asked for one after the other.

The first question reads the text, the later ones find it in the cache, so recall out of a reused prefix is part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from resolver.measure import corpus, prompts, traffic
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.report import Finding, Report
from resolver.measure.server import Message, Server
from resolver.measure.settings import SpeedOptions, conditions
from resolver.measure.statistics import share_interval

NAME, VERSION = "needle", 1
METHOD = "needle: a number in a sentence at each depth of one text, asked for one after the other, greedy"
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
UNABLE = "this model finds no sentence again, not even in a short text, so nothing follows"
ANSWER, CONTROL = 32, 400  # tokens of an answer, and of a text so short that nobody misses the sentence


@dataclass(frozen=True)
class _Tool:
    server: Server
    options: SpeedOptions

    def work(self, key: str) -> Record:
        """All depths at one context."""
        context = int(key.removeprefix("control/"))
        names = [NAME, context, self.options.seed]
        dice = corpus.Dice(*names)
        depths = DEPTHS if key.isdigit() else DEPTHS[2:3]
        needles = [
            (f"{dice.one(corpus.ADJECTIVES)} {dice.one(corpus.NOUNS)}", 10000 + dice.below(90000)) for _ in depths
        ]

        def hide(body: str) -> str:
            lines = body.split("\n")
            for depth, (what, number) in sorted(zip(depths, needles, strict=True), reverse=True):
                lines.insert(round(depth * (len(lines) - 1)) + 1, f"The secret number of the {what} vault is {number}.")
            return "\n".join(lines)

        found = []
        text = ""
        for depth, (what, number) in zip(depths, needles, strict=True):
            question = f"What is the secret number of the {what} vault? Answer with the number and nothing else."

            def frame(body: str, question: str = question) -> tuple[Message, ...]:
                return prompts.user(f"{hide(body)}\n\n{question}")

            if not text:
                room = prompts.fitted(self.server, frame, tuple(names), context - 16)
                text = str(room.messages[0]["content"]).rpartition("\n\n")[0]
            chat = prompts.user(f"{text}\n\n{question}")
            answers, window = traffic.watch(self.server, lambda chat=chat: [self.server.chat(chat, ANSWER)])  # type: ignore[misc]
            answer = answers[0]
            found.append(
                {
                    "depth": depth,
                    "problem": answer.problem,
                    "found": right(answer.text, number),
                    "said": answer.text[:80],
                    "tokens": answer.prompt_tokens,
                    "cached": answer.cached,
                    "foreign": window.foreign,
                }
            )
        return {"needles": found}


def right(answer: str, number: int) -> bool:
    """Whether the answer names this number and no other one."""
    return {text.replace(",", "") for text in re.findall(r"\d[\d,]*\d|\d", answer)} == {str(number)}


def run(server: Server, options: SpeedOptions, journal: Journal | None = None) -> Report:
    """Look.

    Raises:
        NotMeasurable: the server does not count tokens.
    """
    journal = journal or Journal()
    contexts = [context for context in options.fitting(ANSWER) if context >= CONTROL]
    keys = [f"control/{CONTROL}", *map(str, contexts)] if contexts else []
    kept = journal.pieces(f"{NAME}.{VERSION}", (options.seed,), keys, _Tool(server, options).work)
    control = kept.pop(keys[0], None) if keys else None
    able = bool(control and all(needle["found"] for needle in control["needles"]))
    found = [_judged(int(key), record["needles"], able) for key, record in kept.items()]
    every = [needle for record in kept.values() for needle in record["needles"]]
    found.append(traffic.finding([{"foreign": needle["foreign"]} for needle in every]))
    numbers = _numbers(kept, options, able)
    return Report(NAME, numbers, (*found, *options.left_out(ANSWER, CONTROL)), journal.interrupted)


def _judged(context: int, needles: list[Record], able: bool) -> Finding:
    subject = f"needles at {context}"
    details = {"needles": needles}
    if broken := next((needle["problem"] for needle in needles if needle["problem"]), ""):
        return Finding(subject, "broken", f"a question was not answered: {broken}", details)
    lost = [needle for needle in needles if not needle["found"]]
    if not lost:
        return Finding(subject, "clean", f"all {len(needles)} were found", details)
    where = ", ".join(f"{needle['depth']:.0%}" for needle in lost)
    if not able and len(lost) == len(needles):
        return Finding(
            subject,
            "inconclusive",
            "this model finds no sentence again, not even in a short text, so nothing follows",
            details,
        )
    return Finding(subject, "broken", f"{len(lost)} of {len(needles)} were not found, at {where} of the text", details)


def _numbers(kept: dict[str, Record], options: SpeedOptions, able: bool) -> tuple[Measurement, ...]:
    found = []
    whole = 0
    for key, record in kept.items():
        needles = record["needles"]
        hits, n = sum(needle["found"] for needle in needles), len(needles)
        low, high = share_interval(hits, n)
        under = conditions(
            options, context=int(key), streams=1, task="needle", cache_state="first cold, then prefix hits"
        )
        one = Measurement("pct", 100 * hits / n, "%", n, 100 * low, 100 * high, "95 % interval", under, METHOD, VERSION)
        why = next(
            (needle["problem"] or needle["foreign"] for needle in needles if needle["problem"] or needle["foreign"]), ""
        )
        if not why and not hits and not able:
            why = UNABLE
        found.append(one.unsound(why) if why else one)
        if hits == n and not why:
            whole = max(whole, *(needle["tokens"] or 0 for needle in needles))
    if whole:
        under = conditions(options, streams=1, task="needle", cache_state="first cold, then prefix hits")
        found.append(Measurement("needle_tokens", whole, "tokens", len(DEPTHS), None, None, "", under, METHOD, VERSION))
    return tuple(found)
