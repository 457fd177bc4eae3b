"""What is known of a machine: facts by dotted name, the engine it carries, and a view of its files. Unknown stays unknown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

FileKind = Literal["file", "dir", "absent"]


class FileInfo(NamedTuple):
    """One path: `kind` None when nothing is known; `bytes` is the apparent size, of a folder with all it holds.

    `named` is the longest context that a model's config.json names, where a machine file tells it; `path` says where to read it.
    """

    kind: FileKind | None = None
    bytes: int | None = None
    named: int | None = None
    path: str | None = None

    @property
    def exists(self) -> bool | None:
        return None if self.kind is None else self.kind != "absent"

    @property
    def longest(self) -> int | None:
        """The longest context that a model's config.json names, in tokens; None when it names none, or cannot be read."""
        if self.path is None or self.kind != "file":
            return self.named
        from resolver.context_limit import longest_in

        return longest_in(self.path)


UNKNOWN_FILE = FileInfo()
ABSENT = FileInfo("absent")


class FileView(Protocol):
    """Answers what stands at a path."""

    def look(self, path: str) -> FileInfo: ...


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """The files that a machine file lists; every other path is unknown."""

    files: Mapping[str, FileInfo] = field(default_factory=dict)
    root: str = ""

    def look(self, path: str) -> FileInfo:
        found = self.files.get(path)
        if found is None and self.root and path.startswith(self.root + "/"):
            found = self.files.get(path[len(self.root) + 1 :])
        return found or UNKNOWN_FILE


@dataclass(slots=True)
class DiskFiles:
    """The files of this machine, each path looked at once."""

    root: str
    _seen: dict[str, FileInfo] = field(default_factory=dict)

    def look(self, path: str) -> FileInfo:
        if path not in self._seen:
            self._seen[path] = _stat(os.path.join(self.root, path))
        return self._seen[path]


def _stat(path: str) -> FileInfo:
    try:
        if not os.path.lexists(path):
            return ABSENT
        if os.path.isdir(path):
            return FileInfo("dir", _apparent_size(path))
        return FileInfo("file", os.stat(path).st_size, path=path)
    except (OSError, ValueError):
        return UNKNOWN_FILE


def _apparent_size(folder: str) -> int | None:
    """As `du -sb` counts: the sizes of all entries, the folder's own included; None when a part cannot be read."""

    def walk(path: str) -> Iterator[int]:
        yield os.lstat(path).st_size
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from walk(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False).st_size

    try:
        return sum(walk(folder))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. `engine` is the version with its overlays, `0.31.0+hyperqwen-0.31`, or None when unknown."""

    name: str
    facts: Mapping[str, Any]
    engine: str | None = None
    files: FileView = field(default_factory=ListedFiles)
    source: str = ""


def flatten(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested facts by dotted name; lists become tuples."""
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{name}.")
        elif value is not None:
            yield name, tuple(value) if isinstance(value, list) else value


def machine_from(
    document: Mapping[str, Any], name: str, source: str, root: str = "", files: FileView | None = None
) -> Machine:
    """A machine from the nested form of a machine file (or of the probe). The form was checked before."""
    engine = document.get("engine")
    version = None if not engine else "+".join([str(engine["version"]), *engine.get("overlays", ())])
    listed = {
        path: FileInfo(item.get("kind"), item.get("bytes"), item.get("longest"))
        for path, item in (document.get("files") or {}).items()
    }
    return Machine(
        name, dict(flatten(document.get("facts") or {})), version, files or ListedFiles(listed, root), source
    )
