"""How surprised is the model by the user's own text? Perplexity over short windows, from the engine's log-probabilities of the prompt.

They need about 300 MB more than a request without them at 300 tokens, so an engine that filled its card to the brim may die of
them; and they are wrong on a 4-bit cache with drafts and prefix caching, so there nothing is concluded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolver.measure import user_files
from resolver.measure.journal import Journal, Record
from resolver.measure.measurement import Measurement
from resolver.measure.metrics import Counters
from resolver.measure.report import Finding, Report
from resolver.measure.server import Server
from resolver.measure.statistics import mean_interval
from resolver.serving.client import BadAnswer, NoAnswer

NAME, VERSION = "perplexity", 1
METHOD = "perplexity: prompt log-probabilities over windows of the text; the interval is of the windows' means"
LEAST = -1e6  # no logarithm of a chance is less, in whatever number format
BRIM = 0.93  # the share of a 24 GB card above which prompt log-probabilities were seen to run out of memory


@dataclass(frozen=True, slots=True)
class Options:
    """Which text, in how many windows of how many tokens."""

    files: tuple[Path, ...] = ()
    window: int = 300
    windows: int = 64


def warnings(counters: Counters) -> tuple[str, ...]:
    """What to say before anything is asked."""
    share = counters.cache.get("gpu_memory_utilization", "")
    found = ["prompt log-probabilities need about 300 MB beside what the engine planned"]
    try:
        if float(share) > BRIM:
            found.append(f"it plans with {share} of the card, and above {BRIM} such requests have killed engines")
    except ValueError:
        pass
    return tuple(found)


def wrong_here(counters: Counters) -> str:
    """Why the log-probabilities of this server are not to be believed; empty where nothing is known against them."""
    cache = counters.cache
    if (
        cache.get("cache_dtype", "").startswith("kvarn")
        and cache.get("enable_prefix_caching") == "True"
        and counters.width
    ):
        return "prompt log-probabilities are wrong on a 4-bit cache with drafts and prefix caching"
    return ""


def run(server: Server, options: Options, journal: Journal | None = None) -> Report:
    """Measure.

    Raises:
        NotMeasurable: the server does not count tokens.
        UsageError: a file cannot be read.
    """
    journal = journal or Journal()
    counters = server.counters()
    numbers: list[Measurement] = []
    found: list[Finding] = []
    for path in options.files:
        text = user_files.text(path)
        most = options.windows * options.window
        tokens = server.tokens_of_text(text[: 12 * most])[:most]  # twelve characters a token are more than any text has
        starts = range(0, len(tokens) - 1, options.window)
        cuts = [
            tokens[at : at + options.window] for at in starts if len(tokens) - at >= min(options.window, len(tokens))
        ]
        name = user_files.name_of(path, repr(tokens))

        def work(key: str, cuts: list[list[int]] = cuts) -> Record:
            return _window(server, cuts[int(key)])

        kept = journal.pieces(f"{NAME}.{VERSION}", (name, options.window), [str(at) for at in range(len(cuts))], work)
        one, finding = _judged(path, name, list(kept.values()), options, wrong_here(counters), counters)
        found.append(finding)
        numbers += one
    if not options.files:
        found.append(Finding("perplexity", "inconclusive", "no text was given"))
    return Report(NAME, tuple(numbers), tuple(found), journal.interrupted)


def _window(server: Server, tokens: list[int]) -> Record:
    """Ask for one window. The sum is of log-probabilities of every token but the first."""
    body = {"model": server.model, "prompt": tokens, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    try:
        answer = server.client.post("/v1/completions", body)
        found = answer["choices"][0]["prompt_logprobs"]
        total = math.fsum(_logprob(found[at], token) for at, token in enumerate(tokens) if at)
        if len(found) != len(tokens):
            raise ValueError
    except (NoAnswer, BadAnswer) as error:
        return {"problem": str(error), "sum": 0.0, "n": 0}
    except (LookupError, TypeError, ValueError):
        return {"problem": "the answer has no log-probability for each token", "sum": 0.0, "n": 0}
    return {"problem": "", "sum": total, "n": len(tokens) - 1}


def _logprob(entry: Any, token: int) -> float:
    value = entry[str(token)]["logprob"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST <= value <= 0:
        raise ValueError
    return float(value)


def _exp(power: float) -> float:
    return math.exp(min(power, 700.0))  # e to the 710th is more than a float holds, and more than any perplexity means


def _judged(
    path: Path, name: str, windows: list[Record], options: Options, wrong: str, counters: Counters
) -> tuple[list[Measurement], Finding]:
    subject = f"perplexity of {path.name}"
    good = [window for window in windows if window["n"]]
    bad = [window["problem"] for window in windows if window["problem"]]
    if not good:
        why = bad[0] if bad else "the text is too short"
        return [], Finding(subject, "broken" if bad else "inconclusive", why)
    means = [-window["sum"] / window["n"] for window in good]
    interval = mean_interval(means)
    total, count = -math.fsum(window["sum"] for window in good), sum(window["n"] for window in good)
    under = {"text": name, "window": options.window, "tokens": count, "streams": 1, "cache_state": "not read"}
    one = Measurement(
        "ppl",
        _exp(total / count),
        "ppl",
        len(good),
        _exp(interval[0]) if interval else None,
        _exp(interval[1]) if interval else None,
        "95 % interval" if interval else "",
        under,
        METHOD,
        VERSION,
        True,
        warnings(counters)[1:],
    )
    details = {"windows": len(windows), "failed": len(bad), "tokens": count}
    if bad:
        why = f"{len(bad)} of {len(windows)} windows failed: {bad[0]}"
        return [one.unsound(why)], Finding(subject, "broken", why, details)
    if wrong:
        return [one.unsound(wrong)], Finding(subject, "inconclusive", wrong, details)
    return [one], Finding(subject, "clean", f"every one of {len(windows)} windows was answered", details)
