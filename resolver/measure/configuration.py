"""Which launch is it, in sixteen letters? A hash of the engine's words and of what the launch sets in its environment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from resolver.masking import HIDDEN, mask, secret_flag

ADDRESS = frozenset({"--host", "--port", "--uds", "--served-model-name", "--api-key", "--root-path"})
"""Flags that say where a server listens and what it is called: two launches that differ in them alone measure the same."""
LENGTH = 16


def portable(text: str) -> str:
    """The text without folders: a path becomes its last part, so that the same launch reads the same on every machine."""
    if text.startswith(("{", "[")):
        try:
            return json.dumps(_portable_data(json.loads(text)), separators=(",", ":"))
        except (ValueError, RecursionError):
            return text
    name, eq, value = text.partition("=")
    if eq and name.startswith("--"):
        return f"{name}={portable(value)}"
    return text.rstrip("/").rpartition("/")[2] if "/" in text else text


def _portable_data(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _portable_data(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_portable_data(value) for value in data]
    return portable(data) if isinstance(data, str) else data


def words(argv: Sequence[str]) -> list[str]:
    """The words that make the launch what it is: the program and the address left out, paths shortened, keys hidden."""
    out: list[str] = []
    skipping = False
    for word in mask(argv[1:]):
        name, eq, _ = word.partition("=")
        if word.startswith("-"):  # one dash too: what follows an address may be -O3
            skipping = name in ADDRESS and not eq
            if name in ADDRESS:
                continue
        elif skipping:
            continue
        out.append(portable(word))
    return out


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the launch sets, by name, paths shortened and secrets hidden."""
    return {
        name: HIDDEN if secret_flag("--" + name.lower().replace("_", "-")) else portable(environment[name])
        for name in sorted(environment)
    }


def configuration_hash(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """The hash of a launch.

    Args:
        argv: all words, the program first.
        environment: the variables that make the launch (setup.telling_variables), not the caller's whole environment.

    Returns:
        Sixteen hexadecimal digits: the beginning of the SHA-256 of both as JSON.
    """
    text = json.dumps([words(argv), variables(environment)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
