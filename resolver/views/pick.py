"""Which launch fits a use? The legal arms of a machine, the measured ones first, each with its figure and one line of why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resolver.request import build
from resolver.views.fit_note import overfull
from resolver.views.suggest_cost import Cost, cost_of

if TYPE_CHECKING:
    from resolver.engine import Engine
    from resolver.facts import Machine
    from resolver.resolution import Resolution
    from resolver.resolve import Resolver

BITS = {"bfloat16": 16, "auto": 16, "fp8": 8, "int8_per_token_head": 8, "int4_per_token_head": 4, "kvarn_k4v2_g128": 3}
"""Bits of a cached value, keys and values taken together."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a kind of use asks for where the user says nothing: tokens of context, streams, what to prefer, and the rate that matters."""

    name: str
    says: str
    context: int
    streams: int
    prefer: str
    metric: str = "decode_tok_s"


USES = {
    use.name: use
    for use in (
        Use("chat", "one person, short prompts: the rate of one stream matters", 32000, 1, "speed"),
        Use("agent", "long sessions that grow: context matters, then the rate of one stream", 100000, 1, "speed"),
        Use(
            "rag",
            "long prompts, short answers: the rate of reading prompts matters",
            64000,
            1,
            "speed",
            "prefill_tok_s",
        ),
        Use("batch", "many requests at once: the rate of all streams together matters", 8000, 8, "speed"),
    )
}
PREFERENCES = ("speed", "context", "quality")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked: context in tokens, streams at once, images or not, and what to prefer."""

    use: Use
    context: int
    streams: int
    vision: bool = False
    prefer: str = "speed"


@dataclass(frozen=True, eq=False)
class Choice:
    """One legal launch: the words to type behind the launcher, its figure and why it stands where it stands."""

    words: tuple[str, ...]
    resolution: Resolution
    cost: Cost
    length: int
    bits: int | None
    why: str
    fits: bool = True
    """False when `fit` says that it does not, even in the best case."""

    @property
    def measured(self) -> bool:
        return self.cost.figure is not None

    @property
    def here(self) -> bool:
        """Whether the figure was measured on this card."""
        return self.cost.speed > 0

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "words": list(self.words),
            "arm": self.resolution.setting("arm"),
            "max_model_len": self.length,
            "max_num_seqs": self.resolution.setting("max_num_seqs"),
            "kv_cache_bits": self.bits,
            "measured": self.measured,
            "fits": self.fits,
            "cost": self.cost.as_json(),
            "why": self.why,
        }


def pick(resolver: Resolver, machine: Machine, engine: Engine | str | None, wish: Wish) -> list[Choice]:
    """The launches of this machine that meet the wish, best first: measured here, then on its like, then by nobody; no arm twice."""
    found: dict[str, Choice] = {}
    for words in _candidates(resolver):
        choice = _try(resolver, machine, engine, words, wish)
        if choice is not None:
            found.setdefault(str(choice.resolution.setting("arm")), choice)
    return sorted(found.values(), key=lambda c: _rank(c, wish))


def _rank(choice: Choice, wish: Wish) -> tuple[Any, ...]:
    """The order: what may fit into memory, measured here, then what is preferred. A rate of answers that repeat their prompt stands behind the others, and so

    does one whose context nobody wrote down: rates fall with the context, and such a rate is most often one of a short prompt.
    """
    first = {"speed": (), "context": (-choice.length,), "quality": (-(choice.bits or 0),)}[wish.prefer]
    return (
        not choice.fits,
        not choice.here,
        not choice.measured,
        *first,
        choice.cost.repeats,
        choice.measured and choice.cost.context is None,
        -choice.cost.speed,
        -choice.length,
        len(choice.words),
        choice.words,
    )


def _candidates(resolver: Resolver) -> Iterator[tuple[str, ...]]:
    """Every profile alone, and with each backend named; profiles that change more than tier and speculator are recipes of their own."""
    backends = resolver.rules.knobs["backend"].allowed
    for profile in resolver.rules.profiles.values():
        if set(profile.knobs) <= {"ctx", "spec"}:
            yield ("--profile", profile.name)
            for backend in backends:
                yield ("--profile", profile.name, f"ATTENTION_BACKEND={backend}")


def _try(
    resolver: Resolver, machine: Machine, engine: Engine | str | None, words: tuple[str, ...], wish: Wish
) -> Choice | None:
    more = list(words)
    if wish.vision:
        more.append("VISION=1")
    resolution = _resolve(resolver, machine, engine, tuple(more))
    seats = resolution.setting("max_num_seqs")
    if isinstance(seats, int) and seats < wish.streams:
        more.append(f"MAX_SEQS={wish.streams}")
        resolution = _resolve(resolver, machine, engine, tuple(more))
    count = resolution.facts.get("gpu.count")
    if isinstance(count, int) and count > 1 and overfull(resolution):
        more.append(f"TENSOR_PARALLEL_SIZE={count}")
        resolution = _resolve(resolver, machine, engine, tuple(more))
    length = resolution.setting("max_model_len")
    if resolution.refused or not isinstance(length, int) or length < wish.context:
        return None
    cost = cost_of(resolution, wish.use.metric, wish.context, wish.use.name == "batch")
    bits = BITS.get(str(resolution.setting("effective_kv_cache_dtype")))
    fits = not overfull(resolution)
    return Choice(tuple(more), resolution, cost, length, bits, _why(resolution, cost, length, bits, fits), fits)


def _resolve(resolver: Resolver, machine: Machine, engine: Engine | str | None, words: tuple[str, ...]) -> Resolution:
    typed = [(name, text, "pick") for name, _, text in (w.partition("=") for w in words[2:])]
    request = build(resolver.rules, resolver.table, profile=words[1], assignments=typed)
    return resolver.resolve(request, machine, engine)


def _why(resolution: Resolution, cost: Cost, length: int, bits: int | None, fits: bool) -> str:
    """One line: the figure, the room, the cache, and what is warned of."""
    parts = [cost.text, f"{length} tokens at most"]
    if not fits:
        parts.insert(0, "does not fit into memory, by `launch.py fit`")
    if bits:
        dtype = str(resolution.setting("effective_kv_cache_dtype"))
        parts.append("cache of 4-bit keys and 2-bit values" if dtype.startswith("kvarn_k4v2") else f"{bits}-bit cache")
    warned = sum(d.severity == "warn" for d in resolution.diagnostics)
    if warned:
        parts.append("1 warning" if warned == 1 else f"{warned} warnings")
    return ", ".join(parts)
