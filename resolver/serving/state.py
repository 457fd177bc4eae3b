"""Where is the engine's log kept, and how do secrets stay out of it?"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from resolver.masking import HIDDEN, mask, secret_flag
from resolver.serving.errors import LaunchError
from resolver.serving.secrets import VARIABLE

KEPT = 20  # logs of our own naming; older ones are removed
SHORTEST = 6  # a shorter value of a variable that merely sounds secret would garble the log rather than hide anything


def folder(environ: Mapping[str, str]) -> Path:
    """The folder of logs: LAUNCH_STATE_DIR, else $XDG_STATE_HOME/launch-resolver, else ~/.local/state/launch-resolver."""
    named = environ.get("LAUNCH_STATE_DIR")
    if named:
        return Path(named).absolute()
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(base) / "launch-resolver"


def log_path(named: str | None, environ: Mapping[str, str], name: str) -> Path:
    """Return the log's path, its folder made.

    Args:
        named: the file that was asked for; None makes one in the state folder.
        environ: the caller's environment.
        name: what the file's name starts with, such as the profile.

    Raises:
        LaunchError: the folder cannot be made.
    """
    if named is not None:
        return Path(named).absolute()
    place = folder(environ)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LaunchError(
            f"the folder of logs {place} cannot be made ({error.strerror})",
            "name a file with --log, or a folder with LAUNCH_STATE_DIR",
        ) from None
    _forget_old(place)
    return place / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"


def _forget_old(place: Path) -> None:
    with contextlib.suppress(OSError):
        logs = sorted(place.glob("*-*-*.log"), key=lambda path: path.stat().st_mtime)
        for path in logs[: max(0, len(logs) - KEPT + 1)]:
            path.unlink()


def open_log(path: Path) -> int:
    """Open a log for writing, readable by its owner only. Returns its descriptor.

    Raises:
        LaunchError: it cannot be written.
    """
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LaunchError(
            f"the log {path} cannot be written ({error.strerror})", "name another file with --log"
        ) from None


class Masker:
    """Replaces every secret that the engine was given, whole or in the way Python and JSON write it."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Take the engine's words and its environment."""
        forms: set[str] = set()
        for value in _secrets(argv, environ):
            for part in filter(None, value.splitlines()):
                forms |= {part, repr(part)[1:-1], json.dumps(part)[1:-1]}
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """Return the text without them."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        return text


def _secrets(argv: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get(VARIABLE):
        yield environ[VARIABLE]
    for name, value in environ.items():
        if len(value) >= SHORTEST and secret_flag("--" + name.lower().replace("_", "-")):
            yield value
    for word, shown in zip(argv, mask(argv), strict=True):
        if word == shown:
            continue
        if word.lstrip().startswith("{"):
            with contextlib.suppress(ValueError):
                yield from _in_json(json.loads(word))
        elif word.startswith("--"):
            yield word.partition("=")[2]
        else:
            yield word


def _in_json(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, str) and secret_flag("--" + str(name).lower().replace("_", "-")):
                yield value
            else:
                yield from _in_json(value)
    elif isinstance(data, list):
        for value in data:
            yield from _in_json(value)
