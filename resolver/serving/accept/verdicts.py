"""Which launches were accepted on this machine, and which failed? One file; of each launch the last verdict counts."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from resolver.serving import state
from resolver.serving.accept.result import Result
from resolver.serving.errors import LaunchError
from resolver.serving.ownership import store
from resolver.serving.ownership.recipe import Recipe

SCHEMA, NAME = 1, "accepted.json"


@dataclass(frozen=True)
class Verdict:
    """One launch that was put to the battery.

    Attributes:
        at: when, in UTC, to the second.
        accepted: whether every check passed, or did not apply.
        problem: why there was no battery; empty when there was one.
        recipe: how it is started again.
        keys: the cards and the port that it had.
        rules: the hash of the rules that made it (measure.rules_hash).
        arm: the arm that was taken.
        seconds: from the start until it was ready.
        results: what each check found.
        provenance: engine, plugins, card and driver (measure.provenance).
        log: the engine's log.
    """

    at: str
    accepted: bool
    problem: str
    recipe: Recipe
    keys: tuple[str, ...]
    rules: str
    arm: str | None
    seconds: float | None
    results: tuple[Result, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""

    @property
    def reasons(self) -> list[dict[str, str]]:
        """Why it was not accepted: check, reason and fix of each failure."""
        failed = [{"check": r.name, "reason": r.detail, "fix": r.fix} for r in self.results if r.passed is False]
        if self.problem:
            failed.insert(0, {"check": "boot", "reason": self.problem, "fix": f"read the engine's log, {self.log}"})
        return failed

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema": SCHEMA,
            "at": self.at,
            "accepted": self.accepted,
            "profile": self.recipe.name,
            "arm": self.arm,
            "configuration": self.recipe.configuration,
            "engine": self.recipe.engine,
            "rules": self.rules,
            "problem": self.problem,
            "seconds_to_ready": self.seconds,
            "reasons": self.reasons,
            "checks": [result.as_json() for result in self.results],
            "keys": list(self.keys),
            "log": self.log,
            "recipe": self.recipe.as_json(),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(cls, data: Any) -> Verdict | None:
        """What `as_json` wrote; None for what is no such thing."""
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA or not isinstance(data.get("accepted"), bool):
            return None
        recipe = Recipe.from_json(data.get("recipe"))
        if recipe is None or not all(isinstance(data.get(name), str) for name in ("at", "problem", "rules", "log")):
            return None
        keys, checks, seconds = data.get("keys"), data.get("checks"), data.get("seconds_to_ready")
        if not isinstance(keys, list) or not isinstance(checks, list):
            return None
        return cls(
            data["at"],
            data["accepted"],
            data["problem"],
            recipe,
            tuple(map(str, keys)),
            data["rules"],
            data.get("arm") if isinstance(data.get("arm"), str) else None,
            float(seconds) if isinstance(seconds, int | float) else None,
            tuple(filter(None, map(Result.from_json, checks))),
            data["provenance"] if isinstance(data.get("provenance"), dict) else {},
            data["log"],
        )


def path(environ: Mapping[str, str]) -> Path:
    """The file of verdicts."""
    return state.folder(environ) / NAME


def everything(environ: Mapping[str, str]) -> list[Verdict]:
    """All verdicts, the oldest first; an entry that is none is left out.

    Raises:
        LaunchError: the file is there and is not what `keep` writes. Nothing ever writes over such a file.
    """
    return [one for one in map(Verdict.from_json, _entries(environ)) if one is not None]


def unread(environ: Mapping[str, str]) -> str | None:
    """Which entries are no verdict, as a sentence; None where all are. They stay in the file. Raises LaunchError as above."""
    entries = _entries(environ)
    odd = [str(number) for number, data in enumerate(entries, 1) if Verdict.from_json(data) is None]
    if not odd:
        return None
    return f"{path(environ)} has {len(entries)} launches, and of number {', '.join(odd[:5])} no verdict can be read"


def _entries(environ: Mapping[str, str]) -> list[Any]:
    file = path(environ)
    try:
        found = store.load(file)
    except store.Damaged as error:
        raise _unreadable(file, str(error)) from None
    if found is None:
        return []
    if found.get("schema") != SCHEMA:
        why = f"it has the schema {str(found.get('schema'))[:20]}, and this program reads {SCHEMA}"
        raise _unreadable(file, why)
    listed = found.get("launches")
    if not isinstance(listed, list):
        raise _unreadable(file, "it has no list `launches`")
    return listed


def _unreadable(file: Path, why: str) -> LaunchError:
    return LaunchError(
        f"the list of accepted launches, {file}, cannot be read ({why})",
        f"put a whole copy in its place, or move it away: mv {quote(str(file))} {quote(str(file) + '.bad')}",
    )


def keep(environ: Mapping[str, str], verdict: Verdict) -> None:
    """Write a verdict; an older one of the same launch gives way.

    Raises:
        LaunchError: it cannot be written, or what is there cannot be read.
    """
    with _alone(environ):
        read = [(data, Verdict.from_json(data)) for data in _entries(environ)]
        others = [data for data, one in read if one is None or not _same(one, verdict)]
        _write(environ, [*others, verdict.as_json()])


def check_writable(environ: Mapping[str, str]) -> None:
    """Write what is there again, so that a state that cannot be written is known before minutes are spent.

    Raises:
        LaunchError: it cannot be written, or what is there cannot be read.
    """
    with _alone(environ):
        _write(environ, _entries(environ))


@contextlib.contextmanager
def _alone(environ: Mapping[str, str]) -> Iterator[None]:
    """Keep other launchers from writing between a look at the file and its replacement: their verdicts would be lost."""
    beside = store.folder(environ) / "accepted.lock"
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LaunchError(f"the lock {beside} cannot be opened ({error.strerror})", store.FIX) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(environ: Mapping[str, str], entries: Sequence[Any]) -> None:
    store.write(path(environ), {"schema": SCHEMA, "launches": entries})


def _same(one: Verdict, other: Verdict) -> bool:
    a, b = one.recipe, other.recipe
    return (a.configuration, a.engine, a.argv and a.argv[0]) == (b.configuration, b.engine, b.argv and b.argv[0])


def accepted_on(environ: Mapping[str, str], configuration: str, engine: str) -> str | None:
    """The day on which a launch was accepted, such as 2026-12-01; None when it was not, or failed since. Raises LaunchError as `everything`."""
    found = [v for v in everything(environ) if (v.recipe.configuration, v.recipe.engine) == (configuration, engine)]
    return found[-1].at[:10] if found and found[-1].accepted else None


def known_good(environ: Mapping[str, str], keys: Sequence[str], engine: str) -> Iterator[Recipe]:
    """The accepted launches that need no more than these cards and ports, for this engine, the newest first.

    None where the file cannot be read: going back to what ran before must not fail for that.
    """
    found: list[Verdict] = []
    with contextlib.suppress(LaunchError):
        found = everything(environ)
    for verdict in reversed(found):
        if verdict.accepted and verdict.recipe.engine == engine and set(verdict.keys) <= set(keys):
            yield verdict.recipe
