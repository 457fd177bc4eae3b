"""Keep compiled modules where Python itself would not: with PYTHONDONTWRITEBYTECODE, or when the product's folder is read-only.

Compiling 30 modules at every start costs as much as all the rest. The compiled modules go beside the compiled rules, into the
user's own cache folder; the product's folder stays as it is, and modules of others are not touched.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import FileFinder, SourceFileLoader
from types import CodeType


def _folder() -> str | None:
    """As resolver.compile.cache.folder, without its imports."""
    named = os.environ.get("LAUNCH_CACHE_DIR")
    if named == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        base = "" if os.environ.get("HOME") == "" else os.path.join(os.path.expanduser("~"), ".cache")
    place = named or os.path.join(base, "launch-resolver")
    return os.path.join(place, "bytecode") if os.path.isabs(place) else None


def _remove(place: str, source: str) -> None:
    """Take away the bytecode of a source file kept below `place`, so that the next start makes it anew."""
    from contextlib import suppress

    with suppress(OSError):
        os.unlink(f"{place}{source.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc")


def keep(root: str) -> None:
    """Arrange it, when it is needed and the cache folder belongs to this user alone."""
    if not sys.dont_write_bytecode and os.access(os.path.join(root, "resolver"), os.W_OK):
        return
    place = _folder()
    if place is None:
        return
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        for folder in (place, os.path.dirname(place)):
            status = os.stat(folder)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return
    except OSError:
        return
    ours, kept = os.path.join(root, "resolver"), place

    class Loader(SourceFileLoader):
        """Reads and writes its bytecode below `place`."""

        def get_code(self, fullname: str) -> CodeType | None:
            before = sys.pycache_prefix, sys.dont_write_bytecode
            sys.pycache_prefix, sys.dont_write_bytecode = place, False
            try:
                return super().get_code(fullname)
            except (EOFError, ImportError, TypeError, ValueError):  # a file that was cut short or spoilt
                _remove(kept, self.path)
                return self.source_to_code(self.get_data(self.path), self.path)
            finally:
                sys.pycache_prefix, sys.dont_write_bytecode = before

    def hook(path: str) -> FileFinder:
        if path == ours or path.startswith(ours + os.sep):
            return FileFinder(path, (Loader, [".py"]))
        raise ImportError(path)

    sys.path_hooks.insert(0, hook)
    for path in [p for p in sys.path_importer_cache if p.startswith(ours)]:
        del sys.path_importer_cache[path]
