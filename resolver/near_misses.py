"""Which knob a variable of the caller's environment nearly names. The environment belongs to others too, so only what is hardly
anything else counts: one slip in one word, an abbreviation, other order, other case, or vLLM's own name of the flag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from resolver.knobs import FREE_TYPES, read_text
from resolver.model import Flag, Knob, Rules

if TYPE_CHECKING:
    from resolver.resolve import Resolver

_WORDS = frozenset({"SEC", "SECS"})
"""Words one letter away from a knob's that others name their variables by, as MAX_SECS."""
_TAIL = re.compile(r"(ING|ED|ES|E|S)$")
_made: WeakKeyDictionary[Resolver, NearMisses] = WeakKeyDictionary()


def near_misses_of(resolver: Resolver) -> NearMisses:
    """The near misses of these rules, made once."""
    if resolver not in _made:
        _made[resolver] = NearMisses(resolver.rules)
    return _made[resolver]


class NearMisses:
    """The variables of the knobs, arranged so that an ordinary environment costs one look-up a variable.

    A knob whose name is one word (CTX, TOOLS) is nearly named only by a text that is one of its few values: MODELS and HOSTS are
    other people's. Knobs that do nothing are nearly named by nobody.
    """

    def __init__(self, rules: Rules) -> None:
        knobs = [knob for knob in rules.knobs.values() if knob.type not in ("ignored", "secret")]
        self.variables = frozenset(knob.env for knob in rules.knobs.values())
        self._plain: dict[str, Knob] = {_plain(knob.env): knob for knob in knobs}
        self._joined: dict[str, Knob] = {knob.env.replace("_", ""): knob for knob in knobs if "_" in knob.env}
        self._words: dict[str, list[tuple[tuple[str, ...], Knob]]] = {}
        self._single: list[Knob] = []
        self._seen: dict[str, Knob | None] = {}
        flags: dict[str, list[str]] = {}
        for entry in rules.argv:
            if isinstance(entry, Flag):
                flags.setdefault(entry.source, []).append(entry.flag.lstrip("-").replace("-", "_").upper())
        for knob in knobs:
            words = tuple(knob.env.split("_"))
            if len(words) == 1:
                self._single.append(knob)
            else:
                for word in words:
                    self._words.setdefault(word, []).append((words, knob))
            if "_" in knob.name:
                self._plain.setdefault(_plain(knob.name.upper()), knob)
            for source in (knob.name, *knob.sets):
                for flag in flags.get(source, ()):
                    if "_" in flag:
                        self._plain.setdefault(_plain(flag), knob)

    def named(self, words: str) -> str | None:
        """The variable of the knob that these words are, or that stands for the flag that they are."""
        found = self._plain.get(_plain(words))
        return found.env if found else None

    def knob(self, name: str, environ: Mapping[str, str]) -> str | None:
        """The variable of the knob that `name`, which names none, nearly names.

        None too where the right one is set beside it, and where the knob could not have the text: it is then somebody else's.
        """
        if name not in self._seen:
            if len(self._seen) > 10_000:
                self._seen.clear()
            self._seen[name] = self._near(name.upper())
        found = self._seen[name]
        if found is None or found.env in environ or not _could_have(found, environ[name]):
            return None
        return found.env if "_" in found.env or found.type in ("choice", "switch", "zero_one") else None

    def _near(self, upper: str) -> Knob | None:
        found = self._plain.get(_plain(upper)) or self._joined.get(upper.replace("_", ""))
        if found is None:
            words = tuple(upper.split("_"))
            if len(words) == 1:
                near = (knob for knob in self._single if _slip(upper, knob.env))
            else:
                near = (knob for word in words for known, knob in self._words.get(word, ()) if _one_slip(words, known))
            found = next(near, None)
        return found


def _plain(name: str) -> str:
    """The words of a name in a fixed order, for what is only rearranged."""
    return "_".join(sorted(name.split("_")))


def _could_have(knob: Knob, text: str) -> bool:
    return bool(text) and (knob.type in FREE_TYPES or read_text(knob, text).problem is None)


def _one_slip(words: tuple[str, ...], known: tuple[str, ...]) -> bool:
    """Whether the words are the known ones but for one slip, or but for words written out or shortened."""
    if len(words) != len(known):
        return False
    other = [(a, b) for a, b in zip(words, known, strict=True) if a != b]
    return all(_shortens(a, b) or _shortens(b, a) or _stem(a) == _stem(b) for a, b in other) or (
        len(other) == 1 and _slip(*other[0])
    )


def _stem(word: str) -> str:
    """CACHE, CACHES and CACHING are one word; short ones stay as they are."""
    stem = _TAIL.sub("", word)
    return stem if len(stem) > 3 else word


def _shortens(short: str, long: str) -> bool:
    """ATTN of ATTENTION, MEM of MEMORY: the same first letter, and the others in their order."""
    rest = iter(long)
    return 3 <= len(short) < len(long) and short[0] == long[0] and all(letter in rest for letter in short)


def _slip(word: str, known: str) -> bool:
    """One letter left out or too many, two exchanged, or one other letter in a word of four or more (GPU and CPU are two words)."""
    if word == known or word in _WORDS or min(len(word), len(known)) < 2:
        return False
    if len(word) == len(known):
        at = [i for i, (a, b) in enumerate(zip(word, known, strict=True)) if a != b]
        if len(at) == 1:
            return len(known) > 3 and not (word[at[0]] + known[at[0]]).isdigit()
        return len(at) == 2 and at[1] == at[0] + 1 and word[at[0]] == known[at[1]] and word[at[1]] == known[at[0]]
    short, long = sorted((word, known), key=len)
    at_end = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return len(long) == len(short) + 1 and short[at_end:] == long[at_end + 1 :] and not long[at_end].isdigit()
