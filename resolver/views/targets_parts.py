"""What every file for another program is made from: the words and variables of a launch, without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resolver.diagnostics import UsageError
from resolver.masking import secret_flag

if TYPE_CHECKING:
    from resolver.resolution import Resolution

KEY = "VLLM_API_KEY"
KEY_FILE = "api_key.txt"


@dataclass(frozen=True, slots=True)
class Parts:
    """What every target needs: the program, its words without keys, the variables, and the flags that were left out as keys."""

    root: str
    program: str
    words: tuple[str, ...]
    variables: Mapping[str, str]
    removed: tuple[str, ...]
    left_out: tuple[str, ...]
    key: str | None


def parts(resolution: Resolution) -> Parts:
    """The launch without secrets. Raises UsageError for a word that no file can hold."""
    root = str(resolution.resolver.root)
    argv = resolution.argv
    words: list[str] = []
    left: list[str] = []
    hiding = False
    for word in argv[1:]:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            name, eq, _ = word.partition("=")
            hiding = secret_flag(name)
            if hiding:
                left.append(name)
                hiding = not eq
                continue
        elif hiding:
            continue
        if any(c in word for c in "\0\n\r") or (not word.isascii() and _surrogate(word)):
            raise UsageError(
                "a word of the command has a line break or bytes that are no text",
                "change the knob or flag that has it",
            )
        words.append(word)
    for name, value in resolution.set_variables.items():
        if not value.isprintable():
            raise UsageError(
                f"the variable {name} has a line break or bytes that are no text", "change the knob that has it"
            )
    return Parts(
        root,
        os.path.abspath(os.path.join(root, argv[0])),
        tuple(words),
        dict(resolution.set_variables),
        tuple(resolution.rendered.unset_variables),
        tuple(dict.fromkeys(left)),
        resolution.setting("api_key_source"),
    )


def _surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def head(resolution: Resolution, p: Parts, note: Sequence[str] = ()) -> list[str]:
    """The comment at the top of a file."""
    lines = [
        f"# {resolution.request.profile or 'no profile'}, arm {resolution.setting('arm')}, for {resolution.machine.name}",
        f"# vLLM {resolution.engine.name}",
    ]
    lines += [f"# {flag} is left out, for it holds a key: set {KEY} instead" for flag in p.left_out]
    return [line.replace("\n", " ") for line in (*lines, *(f"# {text}" for text in note))]


def text(value: str) -> str:
    """A text as a YAML string that stays a string."""
    return json.dumps(value, ensure_ascii=True)
