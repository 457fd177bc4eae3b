"""Where does the API key come from? From the environment, or from api_key.txt, read at the last moment (R123).

The key goes into the engine's environment and nowhere else: not into argv, a message, a repr or an exception.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from resolver import files
from resolver.serving.errors import LaunchError

VARIABLE, FILE = "VLLM_API_KEY", "api_key.txt"
MARK = b"\xef\xbb\xbf"
"""The byte-order mark that some editors put in front of a text."""
LONGEST = 64 << 10
"""Bytes: more is no key, and no variable holds it."""


class Secret:
    """A text that shows its length only. `reveal()` gives it away, for the environment of the engine."""

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        """Take the secret."""
        self.__text = text

    def reveal(self) -> str:
        """Return the secret itself."""
        return self.__text

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __len__(self) -> int:
        return len(self.__text)

    def __repr__(self) -> str:
        return f"set({len(self)} chars)" if self else "unset"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


def read_key_file(path: Path) -> Secret | None:
    """Return the key in a file; None when there is no such file.

    Dropped are a byte-order mark and the blanks and line breaks around the key, Windows' own too: no client could send them.

    Raises:
        LaunchError: the file is there and cannot be read, holds more than one line, or what no variable can hold.
    """
    try:
        raw = files.read_bytes(path, largest=LONGEST).removeprefix(MARK).strip(b" \t\r\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LaunchError(
            f"{path} cannot be read ({reason})", f"make it readable for you, remove it, or set {VARIABLE}"
        ) from None
    if b"\0" in raw:
        raise LaunchError(
            f"{path} holds a zero byte, which no environment variable can hold", "write the key into it as plain text"
        )
    lines = len(raw.splitlines())
    if lines > 1:
        raise LaunchError(
            f"{path} holds {lines} lines, and a key with a line break in it can be sent by no client",
            "write the key into it as one line",
        )
    return Secret(os.fsdecode(raw))


def holds_key(path: Path) -> bool | None:
    """Tell whether a file with a key in it is there; None when it is there and cannot be read.

    A file of nothing but line breaks holds no key: the engine would serve everybody.
    """
    try:
        found = read_key_file(path)
    except LaunchError:
        return None
    return bool(found)


def with_key(environ: Mapping[str, str], file: Path, needed: bool = False) -> dict[str, str]:
    """Return the environment with the key in it: its own when it has one, else the file's (R123).

    Args:
        environ: the engine's environment.
        file: the key file.
        needed: the launch was resolved with a key (its address is open to the network), so none is an error.

    Raises:
        LaunchError: the key is needed and gone, or the file cannot be read.
    """
    result = dict(environ)
    if not result.get(VARIABLE):
        key = read_key_file(file)
        if key is not None:
            result[VARIABLE] = key.reveal()
    if needed and not result.get(VARIABLE):
        raise LaunchError(
            f"the launch counts on an API key, and neither {VARIABLE} nor {file} has one any more",
            f"write the key into {FILE}, or set {VARIABLE}",
        )
    return result
