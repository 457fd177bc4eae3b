"""Read passed-through words with the engine's own flag table, by the parser that vLLM's is built on (argparse)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from resolver.engine import Engine
from resolver.passthrough import types
from resolver.passthrough.rewrite import rewritten_words


@dataclass(frozen=True, slots=True)
class Passthrough:
    """What the words say. By destination: the last value (an int where the flag is one, on/off for a switch), its text, all values.

    `problem`: why the engine's parser would not take the words, or None.
    """

    words: tuple[str, ...] = field(default=(), repr=False)
    last: Mapping[str, Any] = field(default_factory=dict, repr=False)
    last_text: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    every: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, repr=False)
    flags: frozenset[str] = frozenset()
    problem: str | None = None


NOTHING = Passthrough()


def _value(engine: Engine, dest: str, value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, str) and engine.is_int(dest) and value.isascii() and len(value) <= 18:
        if value.isdigit():
            return int(value)
        if "human_int" in engine.flags[dest]["type"]:
            return types.sized_int(value) or value
    return value


def _as_looked_up(engine: Engine, dest: str, value: Any) -> Any:
    """A name as the engine looks it up: it takes backends in any case, and some lists with `-` for `_` too. Others stay."""
    if not isinstance(value, str):
        return value
    if dest == "attention_backend":
        return value.upper() if value.upper() in engine.backends else value
    return types.lower_underscore(value) if engine.flags[dest]["type"] == "lower_underscore" else value


def _lenient(engine: Engine, words: tuple[str, ...]) -> list[tuple[str, Any]]:
    """When the parser refuses: what can still be read, flag by flag, so that the other rules can speak."""
    seen: list[tuple[str, Any]] = []
    for at, word in enumerate(rewritten_words(words)):
        name, eq, value = word.partition("=")
        dest = engine.spellings.get(name) or (
            engine.destination(name) if name.startswith("--") and len(name) > 2 else None
        )
        if dest is None:
            continue
        info = engine.flags[dest]
        if info["nargs"] == 0:
            seen.append((dest, "off" if name in info["negative"] else "on"))
        elif eq:
            seen.append((dest, value))
        elif at + 1 < len(words) and not words[at + 1].startswith("--"):
            seen.append((dest, words[at + 1]))
        else:
            seen.append((dest, None))
    return seen


@lru_cache(maxsize=4096)
def read_words(engine: Engine, words: tuple[str, ...]) -> Passthrough:
    """Read the words. Never raises; words that the engine would refuse are read as far as they go, with `problem` set."""
    if not words:
        return NOTHING
    from resolver.passthrough.parser import Refused, parse  # argparse is loaded where there is something to parse

    problem = None
    try:
        seen = parse(engine, words)
    except Refused as refused:
        from resolver.masking import strip_values

        problem = strip_values(str(refused), words)
        seen = _lenient(engine, words)
    seen = [(dest, _as_looked_up(engine, dest, value)) for dest, value in seen]
    every: dict[str, list[Any]] = {}
    for dest, value in seen:
        every.setdefault(dest, []).append(_value(engine, dest, value))
    last = {dest: values[-1] for dest, values in every.items()}
    texts = {dest: " ".join(v) if isinstance(v, list) else v for dest, v in seen}
    return Passthrough(words, last, texts, {d: tuple(v) for d, v in every.items()}, frozenset(every), problem)
