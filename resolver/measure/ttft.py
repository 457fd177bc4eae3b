"""How long until the first token: of a prompt that nobody sent before, and of the same prompt again, out of the cache?

That the second one came out of the cache is seen by its cached tokens, or by the engine's own counter of hits; where it did
not, there is no number for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from resolver.measure import observe, prompts
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.report import Finding, Report
from resolver.measure.server import Server
from resolver.measure.settings import SpeedOptions, conditions, median

NAME, VERSION = "ttft", 1
METHOD = "ttft: from sending the request to the first text, one stream; median"
ANSWER = 8  # tokens


@dataclass
class _Tool:
    server: Server
    options: SpeedOptions
    warm: set[int] = field(default_factory=set)

    def work(self, key: str) -> Record:
        """A pair: cold, then again."""
        context, _, repeat = key.partition("/")
        if int(context) not in self.warm:
            self._pair(int(context), "warm-up")
            self.warm.add(int(context))
        return self._pair(int(context), repeat)

    def _pair(self, context: int, repeat: str) -> Record:
        prompt = prompts.task(self.server, "qa", (self.options.seed, NAME, context, repeat), context)
        cold, again = (observe.observe(self.server, [prompt], ANSWER) for _ in range(2))
        return {"cold": cold, "again": again, "block": self.server.counters().block}


def served(record: Record) -> int:
    """Prompt tokens of an observation that came out of the cache: by its usage, else by the engine's counter."""
    said = record["cached"]
    if all(count is not None for count in said):
        return sum(said)
    return int(record["hits"] or 0)


def run(server: Server, options: SpeedOptions, journal: Journal | None = None) -> Report:
    """Measure.

    Raises:
        NotMeasurable: the server does not count tokens.
    """
    journal = journal or Journal()
    contexts = options.fitting(ANSWER)
    keys = [f"{context}/{repeat}" for context in contexts for repeat in range(options.repeats)]
    kept = journal.pieces(f"{NAME}.{VERSION}", (options.seed,), keys, _Tool(server, options).work)
    numbers: list[Measurement] = []
    found: list[Finding] = []
    for context in contexts:
        pairs = [record for key, record in kept.items() if key.partition("/")[0] == str(context)]
        if pairs:
            numbers += _numbers(context, pairs, options)
            found.append(_hits(context, pairs))
    both = [one for record in kept.values() for one in (record["cold"], record["again"])]
    found += [*observe.findings(both, text=False), *options.left_out(ANSWER)]
    return Report(NAME, tuple(numbers), tuple(found), len(kept) < len(keys))


def _numbers(context: int, pairs: list[Record], options: SpeedOptions) -> list[Measurement]:
    why = observe.why_unsound([one for record in pairs for one in (record["cold"], record["again"])], text=False)
    good = [record for record in pairs if not record["cold"]["problem"] and not record["again"]["problem"]]
    found = []
    for name, state, values in (
        ("cold", "cold prompt", [one["cold"]["ttft"][0] for one in good if not served(one["cold"])]),
        ("again", "prefix hit", [one["again"]["ttft"][0] for one in good if served(one["again"])]),
    ):
        if values:
            tokens = max(one[name]["prompt_tokens"][0] for one in good)
            under = conditions(options, context=context, prompt_tokens=tokens, streams=1, cache_state=state)
            found.append(median("ttft_s", "s", values, under, METHOD, VERSION, why))
    reused = [100 * served(one["again"]) / one["again"]["prompt_tokens"][0] for one in good if served(one["again"])]
    if reused:
        under = conditions(options, context=context, streams=1, cache_state="prefix hit")
        found.append(median("prefix_reuse_pct", "%", reused, under, METHOD, VERSION, why))
    return found


def _hits(context: int, pairs: list[Record]) -> Finding:
    """Say whether the second of each pair came out of the cache."""
    subject = f"prefix hit at {context}"
    good = [record for record in pairs if not record["cold"]["problem"] and not record["again"]["problem"]]
    hits = sum(bool(served(record["again"])) for record in good)
    warm = sum(bool(served(record["cold"])) for record in good)
    details = {"pairs": len(pairs), "hits": hits}
    if not good:
        return Finding(subject, "inconclusive", "no pair was answered", details)
    if warm:
        return Finding(
            subject,
            "inconclusive",
            f"{warm} of {len(good)} prompts that nobody sent before came from the cache",
            details,
        )
    if hits == len(good):
        return Finding(subject, "clean", "every prompt that was sent again came from the cache", details)
    why = f"{len(good) - hits} of {len(good)} prompts that were sent again did not come from the cache"
    block = next((record["block"] for record in good if record["block"]), None)
    if block and context < 2 * block:
        why += f": prompts shorter than two blocks of {block} tokens never do"
    return Finding(subject, "inconclusive", why, details)
