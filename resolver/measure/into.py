"""How does a measurement become evidence of an arm? As a figure beside it in profiles.yaml, and not one other byte of the file changes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from resolver.compile import product_root
from resolver.diagnostics import RulesError
from resolver.measure.into_check import check
from resolver.measure.into_record import item_of
from resolver.measure.ledger import Record
from resolver.measure.provenance import Provenance
from resolver.serving.errors import LaunchError

NEEDED = ("hardware", "capability", "engine", "date")
"""What a figure beside an arm must say of where it was measured."""


def write(profiles: Path, arm: str, records: Sequence[Record], root: Path | None = None) -> list[str]:
    """Add records to the evidence of an arm, all or none.

    Args:
        profiles: the file profiles.yaml; a link is followed.
        arm: the arm's name.
        records: what the ledger has of the launch that took this arm.
        root: the product whose schemas and words the figures must follow; None is this one.

    Returns:
        The ids of the figures that were added; those that stood there already are left out.

    Raises:
        LaunchError: a record is of another arm or lacks what evidence must say, the file cannot be changed in that way, or
            it would not load any more.
    """
    for record in records:
        check_record(arm, record)
    path = Path(os.path.realpath(profiles))
    before = _bytes(path)
    items = [item_of(record) for record in records]
    there = _ids(path, before, arm)
    items = [item for item in items if item["id"] not in there]
    if not items:
        return []
    after = spliced(path, before, arm, items)
    check(after.decode("utf-8"), root or product_root())
    _replace(path, before, after)
    return [item["id"] for item in items]


def check_record(arm: str, record: Record) -> None:
    """Raises LaunchError for a record that is no evidence of the arm."""
    on: Provenance = record.provenance
    if on.arm != arm:
        ran = f"ran on the arm {on.arm}" if on.arm else "does not say on which arm it ran"
        raise LaunchError(
            f"the measurement {record.id} {ran}, so it is no evidence of {arm}",
            f"write --into {on.arm}" if on.arm else "measure with --profile, so that the launch is known",
        )
    if not record.measurement.sound:
        raise LaunchError(f"the measurement {record.id} is not sound, so it is no evidence", "measure again")
    missing = [name for name in NEEDED if getattr(on, name) is None]
    if missing:
        raise LaunchError(
            f"the measurement {record.id} does not say its {' and '.join(missing)}, which evidence must",
            "measure on the machine that serves, with nvidia-ml-py installed",
        )


def spliced(path: Path, before: bytes, arm: str, items: Sequence[Mapping[str, Any]]) -> bytes:
    """The content with the figures in it, proved to be the old one but for them.

    Raises:
        LaunchError: there is no such arm, its layout has no place for figures, or the result is not what it should be.
    """
    from resolver.measure.into_splice import NoPlace, add
    from resolver.yaml12 import parse

    try:
        old = before.decode("utf-8")
        expected = parse(old, path.name).data
        new, start, end = add(old, arm, items)
        data = parse(new, path.name).data
    except UnicodeDecodeError:
        raise LaunchError(f"{path} is not UTF-8", "write it again as UTF-8") from None
    except NoPlace as error:
        raise LaunchError(f"{path.name}: {error}", "add the figures by hand, under `evidence` of the arm") from None
    except RulesError as error:
        first = error.diagnostics[0]
        raise LaunchError(f"{first.position}: {first.message}", first.fix or "correct the file first") from None
    expected["arms"][arm]["evidence"] = [*expected["arms"][arm].get("evidence", []), *map(dict, items)]
    if data != expected or new[:start] + new[end:] != old:
        raise LaunchError(
            f"the figures of {arm} cannot be added to {path.name} without changing something else",
            "add them by hand, under `evidence` of the arm",
        )
    return new.encode("utf-8")


def _ids(path: Path, content: bytes, arm: str) -> set[str]:
    from resolver.yaml12 import parse

    try:
        data = parse(content.decode("utf-8"), path.name).data
    except (UnicodeDecodeError, RulesError):
        return set()  # `spliced` says what is wrong
    entry = data.get("arms", {}).get(arm) if isinstance(data, dict) else None
    evidence = entry.get("evidence") if isinstance(entry, dict) else None
    return {str(item.get("id")) for item in evidence if isinstance(item, dict)} if isinstance(evidence, list) else set()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LaunchError(f"{path} cannot be read ({error.strerror})", "check that the file is there") from None


def _replace(path: Path, before: bytes, after: bytes) -> None:
    """Put the new content in the place of the old one, whole or not at all.

    Raises:
        LaunchError: it cannot be written, or somebody changed the file meanwhile.
    """
    temporary = None
    try:
        mode = path.stat().st_mode & 0o7777
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as out:
            out.write(after)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        if path.read_bytes() != before:
            raise LaunchError(f"{path} was changed meanwhile, so nothing was written", "run the command again")
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise LaunchError(
            f"{path} cannot be written ({error.strerror})", "make room or change the permissions of its folder"
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
