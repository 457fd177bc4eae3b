"""How fast does it write? Output tokens a second, at given contexts and streams, and the tokens that each step of it brings.

Each observation has texts of its own, so no cache serves it and no two repeats are one draw; the first of each pair of context
and streams is thrown away. Tokens are the server's own count; steps are compared beside speeds, since a greedy text that takes
another turn is another amount of work.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from resolver.measure import observe, prompts
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.report import Report
from resolver.measure.server import Server
from resolver.measure.settings import SpeedOptions, conditions, median

NAME, VERSION = "decode", 1
METHOD = "decode: greedy answers of a fixed length, after the first part; median"


@dataclass
class _Tool:
    server: Server
    options: SpeedOptions
    warm: set[str] = field(default_factory=set)

    def work(self, key: str) -> Record:
        """One observation; before the first one of a pair in this process, one that is thrown away."""
        task, context, streams, repeat = key.split("/")
        cell = key.rpartition("/")[0]
        if cell not in self.warm:
            self._once(task, int(context), int(streams), "warm-up")
            self.warm.add(cell)
        return self._once(task, int(context), int(streams), repeat)

    def _once(self, task: str, context: int, streams: int, repeat: str) -> Record:
        asked = [
            prompts.task(self.server, task, (self.options.seed, NAME, context, streams, repeat, stream), context)
            for stream in range(streams)
        ]
        record = observe.observe(self.server, asked, self.options.answer)
        if not record["problem"] and not record["together"]:
            record["problem"] = (
                "an answer came in one piece" if streams == 1 else "the streams were never decoding at the same time"
            )
        return record


def run(server: Server, options: SpeedOptions, journal: Journal | None = None) -> Report:
    """Measure.

    Raises:
        NotMeasurable: the server does not count tokens.
    """
    journal = journal or Journal()
    keys = [
        f"{task}/{context}/{streams}/{repeat}"
        for task in options.tasks
        for context in options.fitting(options.answer)
        for streams in options.streams
        for repeat in range(options.repeats)
    ]
    kept = journal.pieces(f"{NAME}.{VERSION}", (options.seed, options.answer), keys, _Tool(server, options).work)
    cells: dict[str, list[Record]] = {}
    for key, record in kept.items():
        cells.setdefault(key.rpartition("/")[0], []).append(record)
    measurements = [one for cell, records in cells.items() for one in _numbers(cell, records, options)]
    found = observe.findings(list(kept.values())) + options.left_out(options.answer)
    return Report(NAME, tuple(measurements), found, len(kept) < len(keys))


def _numbers(cell: str, records: list[Record], options: SpeedOptions) -> list[Measurement]:
    task, context, streams = cell.split("/")
    good = [record for record in records if not record["problem"]]
    if not good:
        return []
    why = observe.why_unsound(records)
    under = conditions(
        options,
        context=int(context),
        prompt_tokens=max(count for record in good for count in record["prompt_tokens"]),
        streams=int(streams),
        task=task,
        answer_tokens=options.answer,
        cache_state="partly cached prompt" if any(any(one["cached"]) or one["hits"] for one in good) else "cold prompt",
    )

    evicted = sum(record["preemptions"] for record in good)
    notes = (f"{evicted:.0f} requests were preempted: the cache has no room for all of them",) if evicted else ()

    def number(metric: str, unit: str, values: list[float]) -> Measurement:
        return median(metric, unit, values, under, METHOD, VERSION, why, notes=notes)

    found = [number("decode_tok_s", "tok/s", [record["together"] for record in good])]
    if int(streams) > 1:
        found.append(number("decode_stream_tok_s", "tok/s", [rate for record in good for rate in record["rates"]]))
    found.append(number("e2e_tok_s", "tok/s", [sum(record["tokens"]) / record["wall"] for record in good]))
    stepped = [record for record in good if record["steps"]]
    if stepped:
        values = [record["step_tokens"] / record["steps"] for record in stepped]
        found.append(number("tokens_per_step", "tokens", values))
        times = [
            1000 * value * len(one["rates"]) / sum(one["rates"]) for value, one in zip(values, stepped, strict=True)
        ]
        found.append(number("step_ms", "ms", times))
    return found
