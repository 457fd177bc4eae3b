"""Do two long conversations that take turns keep their prefixes? Each turn's reuse, beside that of a conversation that has the server alone."""

from __future__ import annotations

from dataclasses import dataclass

from resolver.measure import prompts, traffic
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.report import Finding, Report
from resolver.measure.server import Message, Server
from resolver.measure.settings import SpeedOptions, conditions

NAME, VERSION = "conversations", 1
METHOD = (
    "conversations: cached tokens of a turn over the tokens of the turn before; turns of two conversations alternate"
)
TURNS, ANSWER, LOST, SHORTEST = 3, 32, 0.5, 400
QUESTIONS = ("What is the text above about?", "Which line speaks of a door or a gate?", "Say the same in other words.")


@dataclass(frozen=True)
class _Tool:
    server: Server
    options: SpeedOptions

    def work(self, key: str) -> Record:
        """At one context: a conversation alone, then two that take turns."""
        context = int(key)
        alone = self._talk(context, ("alone",))
        return {"turns": alone + self._talk(context, ("first", "second"))}

    def _talk(self, context: int, names: tuple[str, ...]) -> list[Record]:
        room = context - TURNS * (ANSWER + 48)
        chats: dict[str, list[Message]] = {}
        before: dict[str, int] = {}
        turns: list[Record] = []
        for name in names:

            def frame(body: str) -> tuple[Message, ...]:
                return prompts.user(f"{body}\n\n{QUESTIONS[0]}")

            seed = (self.options.seed, NAME, context, name)
            chats[name] = list(prompts.fitted(self.server, frame, seed, room).messages)
        for turn in range(TURNS):
            for name in names:
                chat = chats[name]
                if turn:
                    chat.append({"role": "user", "content": QUESTIONS[turn]})
                asked = tuple(chat)
                answers, window = traffic.watch(self.server, lambda asked=asked: [self.server.chat(asked, ANSWER)])  # type: ignore[misc]
                answer = answers[0]
                cached = answer.cached if answer.cached is not None else int(window.moved.get("prefix_hits", 0))
                turns.append(
                    {
                        "name": name,
                        "turn": turn,
                        "problem": answer.problem,
                        "tokens": answer.prompt_tokens,
                        "cached": cached,
                        "before": before.get(name, 0),
                        "ttft": answer.first - answer.sent,
                        "foreign": window.foreign,
                    }
                )
                if answer.problem:
                    return turns
                before[name] = answer.prompt_tokens or 0
                chat.append({"role": "assistant", "content": answer.said})
        return turns


def run(server: Server, options: SpeedOptions, journal: Journal | None = None) -> Report:
    """Measure.

    Raises:
        NotMeasurable: the server does not count tokens.
    """
    journal = journal or Journal()
    keys = [str(context) for context in options.fitting(ANSWER) if context >= SHORTEST]
    kept = journal.pieces(f"{NAME}.{VERSION}", (options.seed,), keys, _Tool(server, options).work)
    numbers = [one for key, record in kept.items() for one in _numbers(int(key), record["turns"], options)]
    found = [_judged(int(key), record["turns"]) for key, record in kept.items()]
    found.append(traffic.finding([turn for record in kept.values() for turn in record["turns"]]))
    return Report(NAME, tuple(numbers), (*found, *options.left_out(ANSWER, SHORTEST)), len(kept) < len(keys))


def shares(turns: list[Record], *names: str) -> list[float]:
    """What share of the turn before each later turn of these conversations found in the cache."""
    return [min(1.0, turn["cached"] / turn["before"]) for turn in turns if turn["name"] in names and turn["before"]]


def _numbers(context: int, turns: list[Record], options: SpeedOptions) -> list[Measurement]:
    if any(turn["problem"] for turn in turns):
        return []
    foreign = next((turn["foreign"] for turn in turns if turn["foreign"]), "")
    found = []
    for name in ("alone", "first", "second"):
        values = [100 * share for share in shares(turns, name)]
        under = conditions(
            options, context=context, streams=1, conversation=name, turns=TURNS, cache_state="warm prefix"
        )
        if not values:
            continue
        mean = sum(values) / len(values)
        one = Measurement(
            "prefix_reuse_pct", mean, "%", len(values), min(values), max(values), "min-max", under, METHOD, VERSION
        )
        found.append(one.unsound(foreign) if foreign else one)
    return found


def _judged(context: int, turns: list[Record]) -> Finding:
    subject = f"two conversations at {context}"
    details = {"turns": [{name: turn[name] for name in ("name", "turn", "tokens", "cached")} for turn in turns]}
    if broken := next((turn["problem"] for turn in turns if turn["problem"]), ""):
        return Finding(subject, "broken", f"a turn was not answered: {broken}", details)
    alone = shares(turns, "alone")
    if not any(alone):
        return Finding(
            subject,
            "inconclusive",
            "a conversation that has the server alone finds nothing in the cache either",
            details,
        )
    usual = sum(alone) / len(alone)
    for name in ("first", "second"):
        share = sum(found := shares(turns, name)) / max(1, len(found))
        if share < LOST * usual:
            return Finding(
                subject,
                "broken",
                f"the {name} one finds {share:.0%} of its last turn in the cache, and {usual:.0%} when it is alone",
                details,
            )
    both = shares(turns, "first", "second")
    return Finding(
        subject,
        "clean",
        f"both keep their prefix: {sum(both) / len(both):.0%} of the last turn, alone {usual:.0%}",
        details,
    )
