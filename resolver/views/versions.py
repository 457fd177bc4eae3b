"""What breaks or changes when the engine moves to another version: found from data, by resolving each arm on both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from resolver.compile.helpers import _ge, _lt
from resolver.diagnostics import Position
from resolver.engine import Engine
from resolver.machines import load_machine, with_facts
from resolver.model import Arm, Example, Flag, JsonFlag
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver


@dataclass(frozen=True, slots=True)
class Change:
    """One consequence of the move. `breaks`: a launch that was accepted is refused, or something rendered has no reader."""

    breaks: bool
    what: str
    why: str
    position: Position | None = None


def changes(resolver: Resolver, old: str, new: str) -> list[Change]:
    """Everything that the move from one engine to another breaks or changes. Raises UsageError for an unknown engine."""
    before, after = resolver.engine(old), resolver.engine(new)
    found = [*_rendered(resolver, before, after), *_arms(resolver, old, new), *_guards(resolver, before, after)]
    found += _defaults(resolver, before, after)
    return sorted(found, key=lambda c: not c.breaks)


def _rendered(resolver: Resolver, before: Engine, after: Engine) -> Iterator[Change]:
    """Flags and variables that render.yaml names and that the new version does not read."""
    for entry in resolver.rules.argv:
        if isinstance(entry, (Flag, JsonFlag)) and _reader(before, entry) and not _reader(after, entry):
            yield Change(True, f"flag {entry.flag}", f"vLLM {after.version} has no such flag", entry.position)
    for name, variable in resolver.rules.variables.items():
        if name in before.variables and name not in after.variables:
            yield Change(True, f"variable {name}", f"nothing in vLLM {after.name} reads it", variable.position)


def _reader(engine: Engine, entry: Flag | JsonFlag) -> str | None:
    return engine.reader(entry.flag, entry.abbreviates)


def _resolve(resolver: Resolver, example: Example, engine: str) -> Resolution:
    machine = load_machine(resolver.root, example.machine or "rtx-3090")
    machine = with_facts(resolver.root, machine, example.with_facts)
    assignments = [(name, text, "example") for name, text in example.knobs.items()]
    request = build(resolver.rules, resolver.table, profile=example.profile, assignments=assignments, args=example.args)
    return resolver.resolve(request, machine, engine)


def _arms(resolver: Resolver, old: str, new: str) -> Iterator[Change]:
    for arm in resolver.rules.arms.values():
        for example in arm.taken[:1]:
            yield from _arm(arm, _resolve(resolver, example, old), _resolve(resolver, example, new))


def _arm(arm: Arm, before: Resolution, after: Resolution) -> Iterator[Change]:
    what = f"arm {arm.name}"
    if before.refused and after.refused:
        reasons = "; ".join(d.message for d in after.diagnostics if d.severity == "refuse")
        yield Change(False, what, f"is refused on both: {reasons}", arm.position)
    elif after.refused:
        reasons = "; ".join(d.message for d in after.diagnostics if d.severity == "refuse")
        yield Change(True, what, f"is refused: {reasons}", arm.position)
    elif before.refused:
        yield Change(False, what, "is accepted, and was refused before", arm.position)
    else:
        gone = [w for w in before.argv if w not in after.argv]
        come = [w for w in after.argv if w not in before.argv]
        variables = before.rendered.set_variables.items() ^ after.rendered.set_variables.items()
        parts = [f"loses {' '.join(gone)}"] * bool(gone) + [f"gains {' '.join(come)}"] * bool(come)
        parts += [f"differs in {', '.join(sorted({name for name, _ in variables}))}"] * bool(variables)
        if parts:
            yield Change(False, what, "; ".join(parts), arm.position)


def _guards(resolver: Resolver, before: Engine, after: Engine) -> Iterator[Change]:
    """Guards with a version window that the move enters or leaves."""
    for guard in resolver.rules.guards.values():
        spoke, speaks = (_speaks(guard.since, guard.until, e.version) for e in (before, after))
        if spoke != speaks:
            window = " ".join(
                [f"since {guard.since}"] * bool(guard.since) + [f"until {guard.until}"] * bool(guard.until)
            )
            why = f"{'starts' if speaks else 'stops'} to speak ({window})"
            yield Change(False, f"guard {guard.id}", why, guard.position)


def _speaks(since: str | None, until: str | None, version: str) -> bool:
    return (since is None or _ge(version, since)) and (until is None or _lt(version, until))


def _defaults(resolver: Resolver, before: Engine, after: Engine) -> Iterator[Change]:
    """Defaults that moved, of flags that both versions have: those the launcher leaves to the engine change the launch."""
    rendered = {_reader(before, e) for e in resolver.rules.argv if isinstance(e, (Flag, JsonFlag))}
    for dest, info in before.flags.items():
        other: dict[str, Any] | None = dict(after.flags[dest]) if dest in after.flags else None
        if other is None or not info["spellings"]:
            continue
        lost = set(info["choices"] or ()) - set(other["choices"] or ()) if other["choices"] else set()
        if lost and dest in rendered:
            yield Change(False, f"flag {info['spellings'][0]}", f"no longer takes {', '.join(sorted(map(str, lost)))}")
        if _plain(info["default"]) and info["default"] != other["default"]:
            who = "the launcher sets it" if dest in rendered else "the launcher leaves it to the engine"
            why = f"its default moves from {info['default']!r} to {other['default']!r}; {who}"
            yield Change(False, f"flag {info['spellings'][0]}", why)


def _plain(value: object) -> bool:
    """Whether a default is a plain value, not the printed form of a configuration object."""
    return (
        value is None
        or isinstance(value, (bool, int, float))
        or (isinstance(value, str) and len(value) < 80 and "==" not in value)
    )
