"""What the product tells its user: positions, diagnostics, and the error that carries them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "refuse", "warn", "note"]
LONGEST = 240
"""Characters of a word that a message still shows whole: a path of a user is shorter."""
_LONG_WORD = re.compile(rf"\S{{{LONGEST + 1},}}")


def short(text: str) -> str:
    """The text with its overlong words cut: the first 60 characters of each, and how many there were."""
    if len(text) <= LONGEST:
        return text
    return _LONG_WORD.sub(lambda word: f"{word[0][:60]}... ({len(word[0])} characters)", text)


class Position(NamedTuple):
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Cause(NamedTuple):
    """One knob that a diagnostic rests on: its variable's name, its text (None for a secret) and where it came from."""

    knob: str
    text: str | None
    origin: str

    def __str__(self) -> str:
        shown = "(not shown)" if self.text is None else short(self.text) if self.text else '""'
        between = " " if self.knob == "--" else "="  # engine flags stand after `--`; all else is a knob
        return f"{self.knob}{between}{shown} ({self.origin})"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `rule` is the id of the guard, arm or check; `origins` the numbered rules it implements."""

    severity: Severity
    rule: str
    message: str
    fix: str | None = None
    position: Position | None = None
    causes: tuple[Cause, ...] = ()
    origins: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    details: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.message) > LONGEST:
            object.__setattr__(self, "message", short(self.message))
        if self.fix and len(self.fix) > LONGEST:
            object.__setattr__(self, "fix", short(self.fix))

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON; absent parts are left out."""
        out: dict[str, Any] = {"severity": self.severity, "rule": self.rule, "message": self.message}
        if self.fix:
            out["fix"] = self.fix
        if self.position:
            out["position"] = str(self.position)
        if self.causes:
            out["causes"] = [{"knob": c.knob, "text": c.text, "origin": c.origin} for c in self.causes]
        if self.origins:
            out["origins"] = list(self.origins)
        if self.unknown:
            out["rests_on_unknown"] = list(self.unknown)
        if self.details:
            out["details"] = list(self.details)
        return out

    def __str__(self) -> str:
        head = f"{self.position}: " if self.position else ""
        return f"{head}{self.severity}: {self.message}" + (f" ({self.rule})" if self.rule else "")


class RulesError(Exception):
    """The rules, profiles or machine files cannot be used; carries every diagnostic found, not only the first."""

    def __init__(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))


class UsageError(Exception):
    """The command line or a batch request cannot be used: what is wrong, and the fix."""

    def __init__(self, message: str, fix: str | None = None) -> None:
        self.message = short(message)
        self.fix = fix and short(fix)
        super().__init__(self.message)


def nearest(word: str, known: list[str] | tuple[str, ...]) -> str | None:
    """The known word closest to `word`, or None when none is close."""
    import difflib

    folded = {k.casefold(): k for k in known}
    found = difflib.get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[found[0]] if found else None
