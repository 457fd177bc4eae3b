"""Read the texts that a user gave for knobs: state, value, text; what cannot be used is a diagnostic, and counts as unset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from resolver.coercions import number
from resolver.model import Knob, Rules, Value
from resolver.passthrough.types import human_int_or_auto

UNSET, EMPTY, GIVEN = 0, 1, 2

ON = ("1", "true", "yes", "on")
OFF = ("0", "false", "no", "off")
_DIGITS = re.compile(r"[0-9]{1,18}\Z")
_DECIMAL = re.compile(r"([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})\Z")

ONE_LINE = "give the key alone, as one line"
FREE_TYPES = frozenset({"text", "path", "words", "secret", "host", "ignored"})
"""Types that allow any text: nothing to check, so no validator is loaded for them, and nothing of them is kept on disk."""


@dataclass(frozen=True, slots=True)
class Given:
    """One knob as somebody set it: the text, and where it came from (`environment CTX`, `argument 3`)."""

    text: str = field(repr=False)
    origin: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text means: `state` is EMPTY or GIVEN, or UNSET with a `problem` when it cannot be used."""

    state: int
    value: Value = field(repr=False)
    text: str | None = field(repr=False)
    problem: str | None = None
    fix: str | None = None


def value_of(knob: Knob, text: str) -> Value:
    """The value of a text that was found good."""
    if knob.type in ("switch", "zero_one"):
        return "on" if text.lower() in ON else "off"
    if knob.type == "int":
        return int(text)
    if knob.type == "tokens":
        return number(text)
    return None if knob.type == "secret" else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_text(text: str, bytes_too: bool) -> bool:
    """No half characters; in a path, bytes that are no text may stand as U+DC80 to U+DCFF."""
    return not any("\ud800" <= c <= "\udfff" and not (bytes_too and "\udc80" <= c <= "\udcff") for c in text)


def _is_length(text: str) -> bool:
    """What vLLM's own parser takes for a number of tokens; -1 is auto."""
    try:
        return human_int_or_auto(text) >= -1
    except (ValueError, OverflowError):
        return False


_SHAPES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "int": ("a whole number in plain digits", lambda t: bool(_DIGITS.match(t))),
    "decimal": ("a number such as 0.93", lambda t: bool(_DECIMAL.match(t))),
    "tokens": ("a number of tokens: digits, 64k, 128K, or auto", _is_length),
    "switch": ("0 or 1 (also off, no, false, on, yes, true)", lambda t: t.lower() in ON + OFF),
    "zero_one": ("0 or 1", lambda t: t in ("0", "1")),
    "json": ("JSON", _is_json),
}


def schema_of(knob: Knob) -> dict[str, Any]:
    """The Cerberus schema of one knob's text."""
    schema: dict[str, Any] = {"type": "string"}
    if knob.type in _SHAPES:
        wanted, good = _SHAPES[knob.type]

        def check(field: str, value: str, error: Callable[[str, str], None]) -> None:
            if not good(value):
                error(field, f"is not {wanted}")
            elif knob.type in ("int", "decimal"):
                if knob.minimum is not None and float(value) < knob.minimum:
                    error(field, f"is less than {knob.minimum}")
                if knob.maximum is not None and float(value) > knob.maximum:
                    error(field, f"is more than {knob.maximum}")

        schema["check_with"] = check
    if knob.allowed:
        schema["allowed"] = list(knob.allowed)
    return schema


def read_text(knob: Knob, text: str) -> Reading:
    """Read one text. Never raises for a knob whose default is good."""
    if text == "":
        return Reading(EMPTY, None, "") if knob.empty == "value" else Reading(EMPTY, *_default(knob))
    if "\0" in text:
        return _bad(knob, "holds a NUL byte, which no command line can carry")
    if not text.isascii() and not _is_text(text, knob.type == "path"):
        return _bad(knob, "is not valid text")
    if knob.secret and text.strip(" \t\r\n") != text:
        return _bad(knob, "has blanks or a line break around it, which no client can send", ONE_LINE)
    if knob.secret and ("\n" in text or "\r" in text):
        return _bad(knob, "holds a line break, which no client can send", ONE_LINE)
    if knob.type in FREE_TYPES:
        return Reading(GIVEN, value_of(knob, text), None if knob.secret else text)
    import cerberus

    validator = cerberus.Validator({knob.name: schema_of(knob)})
    if validator.validate({knob.name: text}):
        return Reading(GIVEN, value_of(knob, text), text)
    said = str(next(iter(validator.errors.values()))[0])
    if said.startswith("unallowed value"):
        said = "is not an allowed value"
    return _bad(knob, said)


def _bad(knob: Knob, said: str, fix: str | None = None) -> Reading:
    wanted = (
        f"allowed: {', '.join(knob.allowed)}"
        if knob.allowed
        else f"give {_SHAPES[knob.type][0]}"
        if knob.type in _SHAPES
        else None
    )
    if wanted and knob.minimum is not None:
        wanted += (
            f", from {knob.minimum} to {knob.maximum}" if knob.maximum is not None else f", {knob.minimum} or more"
        )
    return Reading(UNSET, *_default(knob), problem=said, fix=fix or wanted)


def _default(knob: Knob) -> tuple[Value, str | None]:
    return (None, None) if knob.default is None else (value_of(knob, knob.default), knob.default)


class KnobTable:
    """The knobs of a set of rules, with what was read so far kept per knob and text."""

    def __init__(self, rules: Rules, kept: Mapping[tuple[str, str], Reading] | None = None) -> None:
        self.knobs = rules.knobs
        self.by_variable = {knob.env: knob for knob in rules.knobs.values()}
        self.kept: dict[tuple[str, str], Reading] = dict(kept or {})
        self.new = 0
        self._states = dict.fromkeys(rules.knobs, UNSET)
        defaults = {name: _default(knob) for name, knob in rules.knobs.items()}
        self._values = {name: value for name, (value, _) in defaults.items()}
        self._texts = {name: text for name, (_, text) in defaults.items()}

    def read(self, name: str, text: str) -> Reading:
        """One knob's text, from memory where it was read before."""
        key = (name, text)
        found = self.kept.get(key)
        if found is None:
            knob = self.knobs[name]
            found = read_text(knob, text)
            if knob.type in FREE_TYPES or len(text) > 200:
                return found
            if len(self.kept) < 20000:
                self.kept[key] = found
                self.new += 1
        return found

    def start(self) -> tuple[dict[str, int], dict[str, Value], dict[str, str | None]]:
        """States, values and texts when nothing is given: copies that the caller fills in."""
        return self._states.copy(), self._values.copy(), self._texts.copy()
