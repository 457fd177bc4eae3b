"""What does this machine know of servers that run, start or were interrupted? One file a server, written before each step."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from resolver.serving.ownership import process, store
from resolver.serving.ownership.process import Process
from resolver.serving.ownership.recipe import Recipe

SCHEMA = 1
PHASES = {
    "waiting": "waiting for the other server to stop",
    "starting": "starting",
    "ready": "serving",
    "stopping": "stopping",
}


@dataclass(frozen=True)
class Record:
    """One server, or one that is to come.

    Attributes:
        id: what its file is called by.
        keys: what it has, or will have, for itself.
        launch: what it serves.
        phase: one of PHASES; written before the step is taken.
        since: when it got there, in local time with its offset.
        launcher: the process that watches it; of a plain launch, the engine itself.
        supervised: whether the launcher stays beside the engine.
        guard, engine: the processes below it, once they are known.
        was_ready: whether it ever was ready.
        replaces: what ran before, while a switch is not over.
    """

    id: str
    keys: tuple[str, ...]
    launch: Recipe
    phase: str
    since: str
    launcher: Process
    supervised: bool = True
    guard: Process | None = None
    engine: Process | None = None
    was_ready: bool = False
    replaces: Recipe | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "keys": list(self.keys),
            "launch": self.launch.as_json(),
            "phase": self.phase,
            "since": self.since,
            "launcher": self.launcher.as_json(),
            "supervised": self.supervised,
            "guard": self.guard and self.guard.as_json(),
            "engine": self.engine and self.engine.as_json(),
            "was_ready": self.was_ready,
            "replaces": self.replaces and self.replaces.as_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record | None:
        """What `as_json` wrote; None for what is no such thing."""
        launch, launcher = Recipe.from_json(data.get("launch")), Process.from_json(data.get("launcher"))
        names = [data.get(name) for name in ("id", "phase", "since")]
        keys = data.get("keys")
        if data.get("schema") != SCHEMA or launch is None or launcher is None or not isinstance(keys, list):
            return None
        if not all(isinstance(name, str) for name in names) or data["phase"] not in PHASES:
            return None
        return cls(
            data["id"],
            tuple(map(str, keys)),
            launch,
            data["phase"],
            data["since"],
            launcher,
            bool(data.get("supervised")),
            Process.from_json(data.get("guard")),
            Process.from_json(data.get("engine")),
            bool(data.get("was_ready")),
            Recipe.from_json(data.get("replaces")),
        )

    @property
    def lives(self) -> bool:
        """Whether the process that is responsible for it runs, or may run where it cannot be seen."""
        return process.state(self.launcher) != "gone"


def new(launch: Recipe, keys: tuple[str, ...], phase: str, replaces: Recipe | None = None) -> Record:
    """The record of a server that this process is about to have."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return Record(name, keys, launch, phase, now(), process.me(), replaces=replaces)


def now() -> str:
    """The local time with its offset, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def path(folder: Path, record: Record) -> Path:
    """The record's file."""
    return folder / f"server-{record.id}.json"


def save(folder: Path, record: Record, **changes: Any) -> Record:
    """Write the record with its changes. Returns it as it is written now.

    Raises:
        LaunchError: it cannot be written; the file is as it was.
    """
    if "phase" in changes:
        changes.setdefault("since", now())
    record = replace(record, **changes)
    store.write(path(folder, record), record.as_json())
    return record


def remove(folder: Path, record: Record) -> None:
    """Forget a server that is gone."""
    store.remove(path(folder, record))


def everything(folder: Path) -> Iterator[Record]:
    """All records, the oldest first; a file that is none is passed over."""
    return (found for _, found in _look(folder) if isinstance(found, Record))


def damaged(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files that are called like records and are none: each with the reason."""
    return ((file, found) for file, found in _look(folder) if isinstance(found, str))


def _look(folder: Path) -> Iterator[tuple[Path, Record | str]]:
    """Each file with its record, or the reason why it has none; one that is removed meanwhile is left out."""
    for file in sorted(folder.glob("server-*.json")):
        try:
            data = store.load(file)
        except store.Damaged as error:
            yield file, str(error)
            continue
        if data is None:
            continue
        record = Record.from_json(data)
        if data.get("schema") != SCHEMA:
            yield file, f"it has the schema {str(data.get('schema'))[:20]}, and this program reads {SCHEMA}"
        elif record is None or path(folder, record) != file:
            yield file, "it is no record of a server"
        else:
            yield file, record
