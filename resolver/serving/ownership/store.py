"""How is state kept so that a crash at any moment leaves the old or the new of it? Written beside, synced, put in its place."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resolver import files, strict_json
from resolver.serving import state
from resolver.serving.errors import LaunchError

FIX = "make room there, or name another folder with LAUNCH_STATE_DIR"


class Damaged(Exception):
    """A file of state is not what was written there; the text says why."""


def folder(environ: Mapping[str, str], part: str = "servers") -> Path:
    """The folder of what is kept, made where it is missing.

    Raises:
        LaunchError: it cannot be made.
    """
    place = state.folder(environ) / part
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LaunchError(f"the state folder {place} cannot be made ({error.strerror})", FIX) from None
    return place


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Write an object as JSON, whole or not at all, readable by its owner only; on return it is on the disk.

    Raises:
        LaunchError: it cannot be written; what was there before is still there.
    """
    beside = path.with_name(f".{path.name}.tmp")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            text = json.dumps(data, indent=1).encode() + b"\n"
            while text:
                text = text[os.write(handle, text) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(beside, path)
        _sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise LaunchError(f"the state {path} cannot be written ({error.strerror})", FIX) from None


def load(path: Path) -> dict[str, Any] | None:
    """The object in a file; None where there is no file.

    Raises:
        Damaged: there is something else, and why it is none.
    """
    try:
        found = strict_json.loads(files.read_text(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(error.strerror or type(error).__name__) from None
    except UnicodeDecodeError:
        raise Damaged("it is no UTF-8") from None
    except ValueError as error:
        raise Damaged(str(error)) from None
    if not isinstance(found, dict):
        raise Damaged("it is JSON, but no object")
    return found


def remove(path: Path) -> None:
    """Remove a file; one that is gone, or that cannot be removed, is no error."""
    with contextlib.suppress(OSError):
        path.unlink()
        _sync(path.parent)


def _sync(place: Path) -> None:
    """Make the names in a folder last: a file system that cannot do it has no better."""
    with contextlib.suppress(OSError):
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
