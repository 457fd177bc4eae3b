"""What a name in a condition or an expression stands for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from resolver import conditions, expressions
from resolver.coercions import READINGS
from resolver.model import Row

Kind = Literal["knob", "setting", "fact", "extra_last", "extra_any", "extra_set", "file", "choices", "reading"]
FILE_PARTS = ("exists", "bytes", "kind", "longest")


class Meaning(NamedTuple):
    """`base` is the knob, setting, fact or flag (argparse destination); `part` the file property or the reading."""

    kind: Kind
    base: str
    part: str = ""


@dataclass(frozen=True)
class Scope:
    """All names that may be read: knobs, facts, settings, and the destinations of the engine's flags."""

    knobs: Collection[str]
    facts: Collection[str]
    settings: Collection[str]
    flags: Collection[str]
    _found: dict[str, Meaning | None] = field(default_factory=dict, compare=False, repr=False)

    def meaning(self, name: str) -> Meaning | None:
        """What the name stands for; None when nothing is called so."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._meaning(name)
        return found

    def _meaning(self, name: str) -> Meaning | None:
        if name in self.knobs:
            return Meaning("knob", name)
        if name in self.settings:
            return Meaning("setting", name)
        if name in self.facts:
            return Meaning("fact", name)
        if name in ("extra.flags", "extra.shadowed"):
            return Meaning("extra_set", name)
        head, _, rest = name.partition(".")
        if head == "extra":
            which, _, flag = rest.partition(".")
            if which in ("last", "any") and flag in self.flags:
                return Meaning("extra_last" if which == "last" else "extra_any", flag)
            return None
        if head == "file":
            base, _, part = rest.partition(".")
            return Meaning("file", base, part) if base in self.settings and part in FILE_PARTS else None
        if name.startswith("engine.choices."):
            flag = name.removeprefix("engine.choices.")
            return Meaning("choices", flag) if flag in self.flags else None
        if rest in READINGS and (head in self.knobs or head in self.settings):
            return Meaning("reading", head, rest)
        return None

    def all_names(self) -> list[str]:
        """For the nearest-name hint."""
        return sorted({*self.knobs, *self.facts, *self.settings, "extra.flags", "extra.shadowed"})

    def settings_behind(self, name: str) -> Iterator[str]:
        """The setting that must be computed before the name can be read, if any."""
        meaning = self.meaning(name)
        if meaning and meaning.kind in ("setting", "file", "reading") and meaning.base in self.settings:
            yield meaning.base


def row_names(row: Row) -> Iterator[str]:
    """Every name that a row reads."""
    yield from conditions.names(row.when)
    yield from expressions.names(row.value)
