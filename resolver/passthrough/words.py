"""Split EXTRA_ARGS into words: at white space, but a JSON value stays whole and shell quotes around a word's value are removed."""

from __future__ import annotations

import json
import re

_SPACE = re.compile(r"\s+")
_FLAG_HEAD = re.compile(r"(--?[A-Za-z][^\s='\"]*=)")
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_DECODER = json.JSONDecoder()


def split(text: str) -> tuple[str, ...]:
    """The words of `text`. A quote or bracket that is never closed is an ordinary character, as nothing else it could be."""
    out: list[str] = []
    at = 0
    while True:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at >= len(text):
            return tuple(out)
        head = _FLAG_HEAD.match(text, at)
        start = head.end() if head else at
        value, end = _value(text, start)
        out.append((head.group(1) if head else "") + value)
        at = end


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that starts at `at`, and where it ends."""
    first = text[at : at + 1]
    if first in ("{", "["):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return _plain(text, at)
        if end == len(text) or text[end].isspace():
            return text[at:end], end
    quoted = _QUOTED.match(text, at)
    if quoted and (quoted.end() == len(text) or text[quoted.end()].isspace()):
        inner = quoted.group()[1:-1]
        return (re.sub(r'\\(["\\$`])', r"\1", inner) if first == '"' else inner), quoted.end()
    return _plain(text, at)


def _plain(text: str, at: int) -> tuple[str, int]:
    space = _SPACE.search(text, at)
    end = space.start() if space else len(text)
    return text[at:end], end
