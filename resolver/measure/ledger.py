"""Where are measurements kept? In a file of JSON lines that only grows; a line that a crash cut is told of, kept, and never half read."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from resolver import files, output_files, strict_json
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import Provenance
from resolver.serving.errors import LaunchError
from resolver.serving.state import folder

SCHEMA = 1
NAME = "figures.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """One measurement with its provenance. `id` is unique in its file; `line` is where it stands, from 1."""

    id: str
    measurement: Measurement
    provenance: Provenance
    line: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in the file."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "measurement": self.measurement.as_json(),
            "provenance": self.provenance.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that is no record: which one, and why. It stays in the file."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that a file holds, in its order."""

    path: Path
    records: tuple[Record, ...] = ()
    damaged: tuple[Damage, ...] = ()

    def complaints(self) -> Iterator[str]:
        """Yield one sentence for each line that was not read."""
        for damage in self.damaged:
            yield f"{self.path}:{damage.line}:1: {damage.reason}; the line stays there and is left out"


def default_path(environ: Mapping[str, str]) -> Path:
    """The ledger in the state folder: LAUNCH_STATE_DIR, else ~/.local/state/launch-resolver."""
    return folder(environ) / NAME


def record_id(measurement: Measurement, provenance: Provenance) -> str:
    """A name that tells arm, metric, context and day, and ends in letters made from the whole content."""
    content = json.dumps([measurement.as_json(), provenance.as_json()], sort_keys=True)
    parts = [provenance.arm or "server", measurement.metric]
    context = measurement.conditions.get("context")
    if isinstance(context, int) and not isinstance(context, bool):
        parts.append(f"{context // 1000}k" if context >= 1000 else str(context))
    parts += [provenance.date.replace("-", ""), hashlib.sha256(content.encode()).hexdigest()[:6]]
    plain = "-".join(parts)
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in plain)


def append(path: Path, measurements: Sequence[Measurement], provenance: Provenance) -> list[Record]:
    """Add measurements to the end of the file, all or none, and wait until the disk has them.

    Args:
        path: the file; it and its folder are made when they are missing.
        measurements: what was measured.
        provenance: on what.

    Returns:
        The records as they stand there now.

    Raises:
        LaunchError: a measurement is not sound, or the file cannot be written.
    """
    for one in measurements:
        if not one.sound:
            why = f" ({one.notes[-1]})" if one.notes else ""
            raise LaunchError(
                f"the measurement of {one.metric} is not sound{why}, so it is not recorded",
                "measure again when what its notes say is set right",
            )
    if not measurements:
        return []
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = not path.exists()
        with open(output_files.open_to_append(path), "ab+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return _append(path, file, new, measurements, provenance)
    except OSError as error:
        raise _unwritable(path, error) from None


def check_writable(path: Path) -> None:
    """Find out whether `append` can write there, before hours are spent on measuring. Makes the folder.

    Raises:
        LaunchError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        output_files.check_append(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> LaunchError:
    return LaunchError(
        f"the ledger {path} cannot be written ({error.strerror or type(error).__name__})",
        "make room or change its permissions, or name another file with --ledger",
    )


def _append(
    path: Path, file: Any, new: bool, measurements: Sequence[Measurement], provenance: Provenance
) -> list[Record]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    before = file.readall()
    there = parse(path, before)
    taken = {record.id for record in there.records}
    line = before.count(b"\n") + 1
    text = b""
    if before and not before.endswith(b"\n"):
        text, line = b"\n", line + 1  # a line that was cut becomes a line of its own
    out: list[Record] = []
    for one in measurements:
        name = base = record_id(one, provenance)
        again = 2
        while name in taken:
            name, again = f"{base}-{again}", again + 1
        taken.add(name)
        record = Record(name, one, provenance, line + len(out))
        text += json.dumps(record.as_json(), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        out.append(record)
    try:
        output_files.write_all(file.fileno(), text)
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), size)  # nobody was told of these lines, so none of them stays
        raise
    if new:
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return out


def read(path: Path) -> Ledger:
    """Read the file; one that is not there is empty.

    Raises:
        LaunchError: it is there and cannot be read.
    """
    try:
        with open(files.open_plain(path), "rb") as file:
            _share(file)
            return parse(path, file.read())
    except FileNotFoundError:
        return Ledger(path)
    except OSError as error:
        raise LaunchError(
            f"the ledger {path} cannot be read ({error.strerror or type(error).__name__})",
            "change its permissions, or name another file with --ledger",
        ) from None


def _share(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # a file system without locks: the worst is a last line that is told of as cut
        fcntl.flock(file, fcntl.LOCK_SH)


def parse(path: Path, content: bytes) -> Ledger:
    """Read the lines; each is a record or a damage with its reason."""
    records: list[Record] = []
    damaged: list[Damage] = []
    seen: dict[str, int] = {}
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _record(line, number)
        except ValueError as error:
            cut = number == len(lines)
            damaged.append(Damage(number, "the last line was cut while it was written" if cut else str(error)))
            continue
        if record.id in seen:
            damaged.append(Damage(number, f"{record.id} is there already, on line {seen[record.id]}"))
            continue
        seen[record.id] = number
        records.append(record)
    return Ledger(path, tuple(records), tuple(damaged))


def _record(line: bytes, number: int) -> Record:
    """One line as a record. Raises ValueError with the reason."""
    try:
        data = strict_json.loads(line)
    except strict_json.OddNumber as error:
        raise ValueError(f"the line cannot be used: {error}") from None
    except ValueError:
        raise ValueError("the line is not whole, or no JSON") from None
    if not isinstance(data, dict) or not all(isinstance(data.get(k), dict) for k in ("measurement", "provenance")):
        raise ValueError("the line is no record of a measurement")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"the line has the schema {str(data.get('schema'))[:20]}, and this program reads {SCHEMA}")
    if not isinstance(data.get("id"), str) or not data["id"]:
        raise ValueError("the record has no id")
    measurement = Measurement.from_json(data["measurement"])
    if not measurement.sound:
        raise ValueError("the measurement is not sound")
    return Record(data["id"], measurement, Provenance.from_json(data["provenance"]), number)
