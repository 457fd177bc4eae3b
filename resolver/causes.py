"""What a diagnostic rests on: the knobs that somebody set, found through the rows that won."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from resolver import conditions
from resolver.diagnostics import Cause
from resolver.masking import mask, mask_text
from resolver.model import Guard, Row
from resolver.names import row_names

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def cause_of(resolution: Resolution, knob_name: str) -> tuple[Cause, ...]:
    """The knob as a cause, when somebody gave it."""
    given = resolution.request.knobs.get(knob_name)
    if given is None:
        return ()
    knob = resolution.rules.knobs[knob_name]
    text = None if knob.secret else mask_text(given.text) if knob.type == "words" else given.text
    return (Cause(knob.env, text, given.origin),)


def flag_causes(resolution: Resolution) -> Iterator[Cause]:
    """The engine flags that the user typed, keys among them masked."""
    if resolution.request.args:
        yield Cause("--", " ".join(mask(resolution.request.args)), "command line")
    yield from cause_of(resolution, "extra_args")


def _names_in(resolution: Resolution, row: Row) -> tuple[str, ...]:
    """The names that a row reads, found once."""
    kept = resolution.resolver.names_in_row
    found = kept.get(id(row))
    if found is None:
        found = kept[id(row)] = tuple(dict.fromkeys(row_names(row)))
    return found


def names_of(resolution: Resolution, guard: Guard) -> tuple[str, ...]:
    """The names that a guard reads, found once."""
    kept = resolution.resolver.names_in_row
    found = kept.get(id(guard))
    if found is None:
        found = kept[id(guard)] = tuple(dict.fromkeys(conditions.names(guard.when)))
    return found


def causes(resolution: Resolution, names: Iterable[str]) -> tuple[Cause, ...]:
    """The knobs behind the names, through the rows that won."""
    found = dict.fromkeys(knob for name in names for knob in _behind(resolution, name))
    out: list[Cause] = []
    for knob in found:
        out += cause_of(resolution, knob) if knob != FLAGS else flag_causes(resolution)
    return tuple(dict.fromkeys(out))


FLAGS = "--"
"""Stands for the user's engine flags among the knobs behind a name."""


def _behind(resolution: Resolution, name: str) -> tuple[str, ...]:
    """The knobs that somebody gave, and FLAGS, that a name rests on; found once a resolution."""
    kept = resolution.causes_behind
    found = kept.get(name)
    if found is None:
        kept[name] = ()  # a name cannot rest on itself: rules with a cycle are not loaded
        found = kept[name] = tuple(dict.fromkeys(_walk(resolution, name)))
    return found


def _walk(resolution: Resolution, name: str) -> Iterator[str]:
    meaning = resolution.resolver.scope.meaning(name)
    if meaning is None:
        return
    base = meaning.base
    if meaning.kind in ("extra_last", "extra_any", "extra_set"):
        if meaning.kind == "extra_set" or base in resolution.passthrough.flags:
            yield FLAGS
    elif base in resolution.rules.knobs:
        if base in resolution.request.knobs:
            yield base
    elif base in resolution.rules.settings:
        row = resolution.winning_row(base)
        rows = [row] if row else resolution.rules.settings[base].rows if base != "arm" else []
        for used in rows:
            for inner in _names_in(resolution, used):
                yield from _behind(resolution, inner)
