"""How fast does it read? Prompt tokens a second, at given contexts and streams: prompts that nobody sent before, answers of one token."""

from __future__ import annotations

from dataclasses import dataclass, field

from resolver.measure import observe, prompts
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.report import Report
from resolver.measure.server import Server
from resolver.measure.settings import SpeedOptions, conditions, median

NAME, VERSION = "prefill", 1
METHOD = "prefill: prompts of their own, answers of one token; all prompt tokens over the time to the last first token; median"


@dataclass
class _Tool:
    server: Server
    options: SpeedOptions
    warm: set[str] = field(default_factory=set)

    def work(self, key: str) -> Record:
        """One observation; before the first one of a pair in this process, one that is thrown away."""
        context, streams, repeat = key.split("/")
        cell = key.rpartition("/")[0]
        if cell not in self.warm:
            self._once(int(context), int(streams), "warm-up")
            self.warm.add(cell)
        return self._once(int(context), int(streams), repeat)

    def _once(self, context: int, streams: int, repeat: str) -> Record:
        asked = [
            prompts.task(self.server, "summary", (self.options.seed, NAME, context, streams, repeat, stream), context)
            for stream in range(streams)
        ]
        record = observe.observe(self.server, asked, 1)
        served = sum(filter(None, record["cached"])) or record["hits"]
        if not record["problem"] and served:
            record["problem"] = f"{served:.0f} tokens of prompts that nobody sent before came from the cache"
        return record


def run(server: Server, options: SpeedOptions, journal: Journal | None = None) -> Report:
    """Measure.

    Raises:
        NotMeasurable: the server does not count tokens.
    """
    journal = journal or Journal()
    keys = [
        f"{context}/{streams}/{repeat}"
        for context in options.fitting(1)
        for streams in options.streams
        for repeat in range(options.repeats)
    ]
    kept = journal.pieces(f"{NAME}.{VERSION}", (options.seed,), keys, _Tool(server, options).work)
    cells: dict[str, list[Record]] = {}
    for key, record in kept.items():
        cells.setdefault(key.rpartition("/")[0], []).append(record)
    measurements = [one for cell, records in cells.items() for one in _numbers(cell, records, options)]
    found = observe.findings(list(kept.values()), text=False) + options.left_out(1)
    return Report(NAME, tuple(measurements), found, len(kept) < len(keys))


def _numbers(cell: str, records: list[Record], options: SpeedOptions) -> list[Measurement]:
    context, streams = map(int, cell.split("/"))
    good = [record for record in records if not record["problem"]]
    if not good:
        return []
    tokens = [sum(record["prompt_tokens"]) for record in good]
    under = conditions(
        options,
        context=context,
        prompt_tokens=max(tokens) // streams,
        streams=streams,
        cache_state="cold prompt",
    )
    values = [count / record["until_first"] for count, record in zip(tokens, good, strict=True)]
    why = observe.why_unsound(records, text=False)
    return [median("prefill_tok_s", "tok/s", values, under, METHOD, VERSION, why)]
