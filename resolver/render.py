"""Turn settings into argv and environment changes, and keep what nothing in the engine reads out of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from resolver.compile.helpers import show
from resolver.engine import Engine
from resolver.expressions import Const, Name
from resolver.model import Flag, JsonFlag, Rules, UserWords, Words

NONE: frozenset[str] = frozenset()
_ascii = json.JSONEncoder(separators=(",", ":")).encode
_text = json.JSONEncoder(ensure_ascii=False).encode

Lookup = Callable[[str], tuple[Any, str | None]]
"""Value and own text of a knob or setting."""


class Token(NamedTuple):
    """One word of argv and the name that it comes from (`user` for the user's own flags, "" for fixed words)."""

    text: str
    source: str

    def __repr__(self) -> str:
        return f"Token({'(not shown)' if self.source == 'user' else self.text!r}, {self.source!r})"


class Unread(NamedTuple):
    """Something that would have been rendered, had the engine a reader for it. `kind`: flag, choice or variable."""

    kind: str
    what: str
    source: str
    value: str


class Rendered(NamedTuple):
    """What the launch sets: words of argv, variables, and what was left out because nothing reads it."""

    tokens: tuple[Token, ...]
    set_variables: Mapping[str, str]
    unset_variables: tuple[str, ...]
    unread: tuple[Unread, ...]
    destinations: frozenset[str]
    """The flags that the launcher itself sets, where there are user's flags to compare with."""


class Plan:
    """render.yaml for one engine: what is looked up once, not at every launch."""

    def __init__(self, rules: Rules, engine: Engine) -> None:
        self.entries = rules.argv
        self.variables = rules.variables
        self.read = {
            e.flag: engine.reader(e.flag, e.abbreviates) for e in rules.argv if isinstance(e, (Flag, JsonFlag))
        }
        self.allowed = {f: frozenset(engine.choices(d)) for f, d in self.read.items() if d and engine.choices(d)}
        self.known_variables = engine.variables
        self.spelled = dict(self.read) | {
            e.off: self.read[e.flag] for e in rules.argv if isinstance(e, Flag) and e.off is not None
        }
        self.knobs = rules.knobs
        keys = [(e.flag, key) for e in rules.argv if isinstance(e, JsonFlag) for key in e.keys]
        self.json_keys = {key.key: f"{_ascii(key.key)}:" for _, key in keys}
        self.literals = {(flag, key.key): _ascii(key.literal) for flag, key in keys if key.source is None}

    def render(self, lookup: Lookup, user_words: tuple[str, ...], environ: Mapping[str, str]) -> Rendered:
        """Render one launch."""
        tokens: list[Token] = []
        unread: list[Unread] = []
        for entry in self.entries:
            if isinstance(entry, Flag):
                self._flag(entry, lookup, tokens, unread)
            elif isinstance(entry, JsonFlag):
                self._json(entry, lookup, tokens, unread)
            elif isinstance(entry, UserWords):
                tokens += [Token(word, "user") for word in user_words]
            else:
                self._words(entry, lookup, tokens)
        changes, removed = self._environment(lookup, environ, unread)
        return Rendered(tuple(tokens), changes, removed, tuple(unread), self._set_flags(tokens) if user_words else NONE)

    def _set_flags(self, tokens: list[Token]) -> frozenset[str]:
        """The destinations of the flags that the launcher itself sets in this launch."""
        found = (self.spelled.get(t.text.partition("=")[0]) for t in tokens if t.source != "user")
        return frozenset(dest for dest in found if dest)

    @staticmethod
    def _words(entry: Words, lookup: Lookup, tokens: list[Token]) -> None:
        for word in entry.words:
            if isinstance(word, Const):
                tokens.append(Token(show(word.value), ""))
            elif isinstance(word, Name):
                value, text = lookup(word.name)
                tokens.append(Token(text or show(value), word.name))

    def _flag(self, entry: Flag, lookup: Lookup, tokens: list[Token], unread: list[Unread]) -> None:
        source = entry.source
        value, text = lookup(source)
        if value is None and not text:
            return
        shown = text or show(value)
        if not shown:
            return
        flag = entry.flag
        if entry.bare and value != "on" and value is not True:
            if entry.off is None:
                return
            flag = entry.off
        if self.read[entry.flag] is None:
            unread.append(Unread("flag", entry.flag, source, shown))
        elif entry.bare:
            tokens.append(Token(flag, source))
        elif entry.flag in self.allowed and shown not in self.allowed[entry.flag]:
            unread.append(Unread("choice", entry.flag, source, shown))
        elif entry.joined:
            tokens.append(Token(f"{flag}={shown}", source))
        else:
            tokens.append(Token(flag, source))
            tokens.append(Token(shown, source))

    def _json(self, entry: JsonFlag, lookup: Lookup, tokens: list[Token], unread: list[Unread]) -> None:
        if entry.gate and lookup(entry.gate)[0] is None:
            return
        parts = []
        for key in entry.keys:
            if key.source is None:
                parts.append(self.json_keys[key.key] + self.literals[entry.flag, key.key])
                continue
            value, text = lookup(key.source)
            if value is None:
                continue
            if key.verbatim:
                shown = text or show(value)
            else:
                shown = str(value) if type(value) is int else _text(value)  # as JSON has it, without making an encoder
            parts.append(self.json_keys[key.key] + shown)
        if self.read[entry.flag] is None:
            unread.append(Unread("flag", entry.flag, entry.gate or entry.flag, "{" + ",".join(parts) + "}"))
            return
        source = entry.gate or entry.flag
        tokens += [Token(entry.flag, source), Token("{" + ",".join(parts) + "}", source)]

    def _environment(
        self, lookup: Lookup, environ: Mapping[str, str], unread: list[Unread]
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        changes: dict[str, str] = {}
        removed: list[str] = []
        for variable in self.variables.values():
            if variable.unset and lookup(variable.unset)[0] == "on":
                if variable.name in environ:
                    removed.append(variable.name)
                continue
            if variable.source is None:
                continue
            value, text = lookup(variable.source)
            if value is None and not text:
                continue
            shown = text or show(value)
            if not shown:
                continue
            if variable.name in self.known_variables:
                changes[variable.name] = shown
            elif environ.get(variable.name) != shown:
                unread.append(Unread("variable", variable.name, variable.source, shown))
        return changes, tuple(removed)
