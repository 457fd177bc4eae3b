"""What runs here now, and what was cut short? Records say what was meant, processes and locks say what is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from resolver.serving.ownership import keys as named
from resolver.serving.ownership import process, records
from resolver.serving.ownership.records import PHASES, Record


@dataclass(frozen=True)
class Survey:
    """The servers that need what a launch needs.

    Attributes:
        running: those whose launcher is there.
        coming: launchers that wait for one of the running ones to stop.
        cut: those whose launcher ended without saying so.
    """

    running: tuple[Record, ...]
    coming: tuple[Record, ...]
    cut: tuple[Record, ...]


def survey(folder: Path, keys: Iterable[str], mine: str = "") -> Survey:
    """Look at the records that these keys concern; the one with the id `mine` is left out."""
    wanted = tuple(keys)
    found = [one for one in records.everything(folder) if one.id != mine and named.conflict(one.keys, wanted)]
    alive = [one for one in found if one.lives]
    return Survey(
        tuple(one for one in alive if one.phase != "waiting"),
        tuple(one for one in alive if one.phase == "waiting"),
        tuple(one for one in found if not one.lives),
    )


def cut_short(record: Record, running: Iterable[Record]) -> str:
    """Say what became of a launcher that ended without saying so, and which server runs now."""
    again = process.boot() != record.launcher.boot
    how = "before this machine was started again" if again else "without stopping its server itself"
    doing = PHASES[record.phase]
    if record.replaces is None:
        said = f"the launcher of {record.launch.name} (process {record.launcher.pid}) ended {how}, while {doing}"
    else:
        said = (
            f"a switch from {record.replaces.name} to {record.launch.name} (process {record.launcher.pid}) "
            f"was cut short{f' {how}' if again else ''}, while {doing}"
        )
    here = next(iter(running), None)
    return f"{said}: {f'{here.launch.name} runs, on {here.launch.url}' if here else 'no server runs'}"


def what(record: Record) -> str:
    """A server as people say it: what it is, what it does, where and since when."""
    where = f" on {record.launch.url}" if record.phase == "ready" or not record.supervised else ""
    doing = "running" if not record.supervised else PHASES[record.phase]
    return f"{record.launch.name}, {doing}{where} since {record.since} (process {record.launcher.pid})"
