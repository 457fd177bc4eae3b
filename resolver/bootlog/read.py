"""From the lines of a log to a boot: numbers by name, and how it ended. The last boot of a file is the one that counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resolver import files
from resolver.bootlog.lines import KILLED, PATTERNS, REFUSED, START, UP, Pattern

STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LONGEST_LINE = 100_000


class NoBoot(Exception):
    """The file is no boot log; the text says what was looked for."""


@dataclass
class Boot:
    """One boot, as far as its log tells.

    Attributes:
        version: of the engine, `0.31.0`; None when the log does not say.
        said: name of lines.py -> the value (a number, a word, or a list of them).
        outcome: `runs`, `refuses` (too little memory for the pool), `dies` (out of memory), or None: the log ends before.
    """

    version: str | None = None
    said: dict[str, Any] = field(default_factory=dict)
    outcome: str | None = None


def read_boot(lines: Iterable[str]) -> Boot:
    """The last boot in the lines. Raises NoBoot when no line is one of an engine.

    The API server speaks before the engine does: what stands before the engine's first line belongs to its boot.
    """
    boot = Boot()
    for raw in lines:
        line = STYLE.sub("", raw[:LONGEST_LINE])
        start = START.search(line)
        if start:
            if boot.version is not None:
                boot = Boot(said={k: v for k, v in boot.said.items() if k == "max_model_len"})
            boot.version = start[1]
        for pattern in PATTERNS:
            found = pattern.text.search(line)
            if found:
                _keep(boot, pattern, found[1])
        if UP.search(line):
            boot.outcome = "runs"
        elif REFUSED.search(line):
            boot.outcome = "refuses"
        elif KILLED.search(line):
            boot.outcome = "dies"
    if not boot.said:
        raise NoBoot("it has none of the lines that vLLM writes when it boots")
    return boot


def read_file(path: Path) -> Boot:
    """The last boot of a file. Raises NoBoot and OSError."""
    with open(files.open_plain(path, pipe=True), encoding="utf-8", errors="replace") as handle:
        return read_boot(iter(lambda: handle.readline(LONGEST_LINE), ""))


def _keep(boot: Boot, pattern: Pattern, text: str) -> None:
    value = _value(pattern, text)
    if value is None:
        return
    if not pattern.many:
        boot.said[pattern.name] = value
        return
    kept = boot.said.setdefault(pattern.name, [])
    if value not in kept:
        kept.append(value)


def _value(pattern: Pattern, text: str) -> Any:
    try:
        if pattern.kind == "int":
            return int(text.replace(",", ""))
        if pattern.kind == "word":
            return text
        if pattern.kind == "sizes":
            return [int(part) for part in text.replace(",", " ").split()]
        return float(text)
    except ValueError:
        return None
