"""What every file for another program is made from: the words and variables of a launch, without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resolver.diagnostics import UsageError
from resolver.masking import HIDDEN, mask, secret_flag

if TYPE_CHECKING:
    from resolver.resolution import Resolution

KEY = "VLLM_API_KEY"
KEY_FILE = "api_key.txt"


@dataclass(frozen=True, slots=True)
class Parts:
    """What every target needs: the program, its words without keys, the variables, and the flags that were left out for their secrets."""

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
    kept, left = _without_secrets(argv[1:])
    for word in kept:
        if any(c in word for c in "\0\n\r") or (not word.isascii() and _surrogate(word)):
            raise UsageError(
                "a word of the command has a line break or bytes that are no text",
                "change the knob or flag that has it",
            )
    for name, value in resolution.set_variables.items():
        if not value.isprintable():
            raise UsageError(
                f"the variable {name} has a line break or bytes that are no text", "change the knob that has it"
            )
    return Parts(
        root,
        os.path.abspath(os.path.join(root, argv[0])),
        tuple(kept),
        dict(resolution.set_variables),
        tuple(resolution.rendered.unset_variables),
        tuple(left),
        resolution.setting("api_key_source"),
    )


def _without_secrets(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without each flag that `mask` finds a secret in, its values included; and the names of these flags, once each.

    A value half hidden would start another server than the one that was asked for, so its flag goes as a whole. Raises
    UsageError for a secret that belongs to no flag.
    """
    groups: list[list[tuple[str, str]]] = [[]]
    for word, shown in zip(words, mask(words), strict=True):
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            groups.append([])
        groups[-1].append((word, shown))
    kept: list[str] = []
    left: list[str] = []
    for number, group in enumerate(groups):
        name = group[0][1].partition("=")[0] if group else ""
        if all(word == shown for word, shown in group) and not secret_flag(name):
            kept += [word for word, _ in group]
        elif number == 0:
            raise UsageError("a path or name of the command holds a password or key", "change the knob that has it")
        elif name not in (*left, HIDDEN):
            left.append(name)
    return kept, left


def _surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def head(resolution: Resolution, p: Parts, note: Sequence[str] = ()) -> list[str]:
    """The comment at the top of a file."""
    lines = [
        f"# {resolution.request.profile or 'no profile'}, arm {resolution.setting('arm')}, for {resolution.machine.name}",
        f"# vLLM {resolution.engine.name}",
    ]
    for flag in p.left_out:
        instead = f"set {KEY} instead" if flag.startswith("--api") else "add it where nobody else can read it"
        lines.append(f"# {flag} is left out, for it holds a key: {instead}")
    return [line.replace("\n", " ") for line in (*lines, *(f"# {text}" for text in note))]


def text(value: str) -> str:
    """A text as a YAML string that stays a string."""
    return json.dumps(value, ensure_ascii=True)
