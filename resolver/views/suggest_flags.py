"""Which engine flags did the user type, and how does the request look without one of them?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from resolver.engine import Engine
from resolver.knobs import Given
from resolver.masking import mask
from resolver.passthrough import split
from resolver.views.suggest_draft import Change, Draft, layer

NO_FLAG = "a word that belongs to no flag"


def groups(engine: Engine, words: Sequence[str]) -> list[tuple[str | None, int, int]]:
    """The words as flags with their values: (destination or None, from, to)."""
    out: list[tuple[str | None, int, int]] = []
    at = 0
    while at < len(words):
        word = words[at]
        start, at = at, at + 1
        if not _is_flag(word):
            out.append((None, start, at))
            continue
        dest = destination(engine, word)
        nargs = engine.flags[dest]["nargs"] if dest else "*"
        if "=" in word or nargs == 0:
            most = 0
        else:
            most = 1 if nargs in (None, "?", 1) else len(words)
        while at < len(words) and at - start <= most and not _is_flag(words[at]):
            at += 1
        out.append((dest, start, at))
    return out


def stray(word: str) -> bool:
    """Whether the first word of a group belongs to no flag. It is not repeated: it may be a key that lost its flag."""
    return not _is_flag(word)


def _is_flag(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word))


def destination(engine: Engine, word: str) -> str | None:
    """The destination of a flag as the user may have spelt it: with underscores, shortened, dotted, or with a value."""
    name = word.partition("=")[0].partition(".")[0]
    if name.startswith("--"):
        return engine.destination("--" + name[2:].replace("_", "-"))
    return engine.spellings.get(name)


def drop_flag(engine: Engine, draft: Draft, label: str) -> Draft | None:
    """The request without an engine flag (by destination), or without the word where the engine knows no such flag."""
    asked = draft.request
    args, gone = _without(engine, asked.args, label)
    knobs, environ = dict(asked.knobs), asked.environ
    extra = asked.knobs.get("extra_args")
    if extra is not None and extra.text:
        words = split(extra.text)
        left, more = _without(engine, words, label)
        if more:
            gone = gone or more
            text = join(left)
            if left and (text is None or layer(extra) == "file"):
                return None
            if left:
                knobs["extra_args"] = Given(text or "", "argument")
            elif layer(extra) in ("profile", "file"):
                knobs["extra_args"] = Given("", "argument")
            else:
                del knobs["extra_args"]
                environ = {k: v for k, v in environ.items() if k != "EXTRA_ARGS"}
    if not gone:
        return None
    hidden = [NO_FLAG] if stray(gone[0]) else mask(gone)
    name, eq, value = hidden[0].partition("=")
    change = Change("flag", name, value if eq else " ".join(hidden[1:]), None, 1)
    return Draft(
        replace(asked, args=tuple(args), knobs=knobs, environ=environ), (*draft.changes, change), draft.weight + 1
    )


def labels(engine: Engine, draft: Draft) -> list[str]:
    """What `drop_flag` can take out, each once."""
    extra = draft.request.knobs.get("extra_args")
    found: dict[str, None] = {}
    for words in (draft.request.args, split(extra.text) if extra else ()):
        found |= dict.fromkeys(dest or words[start] for dest, start, _ in groups(engine, words))
    return list(found)


def _without(engine: Engine, words: Sequence[str], label: str) -> tuple[list[str], list[str]]:
    left: list[str] = []
    gone: list[str] = []
    for dest, start, end in groups(engine, words):
        if (dest or words[start]) == label:
            gone = gone or list(words[start:end])
        else:
            left += words[start:end]
    return left, gone


def join(words: Sequence[str]) -> str | None:
    """A text of EXTRA_ARGS that is split into these words again; None when there is none."""
    text = " ".join(w if split(w) == (w,) else shlex.quote(w) for w in words)
    return text if list(split(text)) == list(words) else None
