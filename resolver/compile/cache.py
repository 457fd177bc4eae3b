"""Keep what is expensive to make (compiled rules, engines, checked knob texts) on disk, keyed by the content it was made from.

The folder is the user's own (mode 0700) and an entry of another owner is not read: its content is code. Any trouble with the
cache means doing the work again, never an error.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from resolver import files

_OWN = re.compile(r"[a-z]+-[0-9a-f]{40}\Z")
"""Names of entries: whatever else is in the folder belongs to somebody else, and stays."""
_FORMAT = f"4/{sys.implementation.cache_tag}"


def folder() -> Path | None:
    """Where entries are kept; LAUNCH_CACHE_DIR names another place, empty switches the cache off."""
    named = os.environ.get("LAUNCH_CACHE_DIR")
    if named == "":
        return None
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        base = "" if os.environ.get("HOME") == "" else os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "launch-resolver" if os.path.isabs(base) else None


def digest(paths: Iterable[Path], *extra: str) -> str:
    """A key over file names and contents; a file that cannot be read counts as absent."""
    h = hashlib.blake2b(digest_size=20)
    for part in (_FORMAT, *extra):
        h.update(part.encode() + b"\0")
    for path in paths:
        try:
            content = files.read_bytes(path)
        except (OSError, ValueError):
            content = b"\xff absent"
        h.update(str(path).encode(errors="surrogatepass") + b"\0" + len(content).to_bytes(8, "big") + content)
    return h.hexdigest()


def load(name: str) -> Any | None:
    """The entry, or None; also where the file holds something else than what was stored under this name."""
    place = folder()
    if place is None:
        return None
    try:
        with open(files.open_plain(place / name), "rb") as handle:
            status = os.fstat(handle.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            if time.time() - status.st_mtime > 3600:
                os.utime(handle.fileno())  # _tidy keeps what was used last
            kept, value = pickle.load(handle)
            return value if kept == name else None
    except Exception:  # an entry that cannot be used for whatever reason is made again
        return None


def store(name: str, value: Any) -> None:
    """Write the entry whole or not at all."""
    place = folder()
    if place is None:
        return
    import tempfile

    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.stat().st_uid != os.geteuid():
            return
        handle, temporary = tempfile.mkstemp(dir=place)
        try:
            with os.fdopen(handle, "wb") as out:
                pickle.dump((name, value), out, protocol=pickle.HIGHEST_PROTOCOL)
            os.replace(temporary, place / name)
        except BaseException:
            os.unlink(temporary)
            raise
        _tidy(place, name)
    except (OSError, ValueError, AttributeError, pickle.PicklingError, RecursionError, TypeError):
        return


KEEP = {"engine": 48}
"""Entries of a kind that are kept, where it is not 16: the analysis of the rules looks at every engine, and none may push out another."""


def _tidy(place: Path, newest: str) -> None:
    """Remove all but the entries of each kind that were used last, so that many machines never push out the rules."""
    kinds: dict[str, list[tuple[float, Path]]] = {}
    for path in place.iterdir():
        if _OWN.match(path.name) and path.is_file():
            kinds.setdefault(path.name.partition("-")[0], []).append((path.stat().st_mtime, path))
    for kind, entries in kinds.items():
        for _, path in sorted(entries, reverse=True)[KEEP.get(kind, 16) :]:
            if path.name != newest:
                path.unlink(missing_ok=True)
