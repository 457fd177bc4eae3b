"""Whether the engine takes the configurations that the launcher writes: free texts of knobs end up in them, which nothing else checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from resolver.causes import cause_of
from resolver.diagnostics import Diagnostic
from resolver.knobs import GIVEN
from resolver.model import JsonFlag, Knob
from resolver.passthrough.fits import misfit

if TYPE_CHECKING:
    from resolver.resolution import Resolution

FREE = ("text", "json")
"""Types of knobs whose values no list limits."""


@dataclass(frozen=True)
class Misfit:
    """A configuration that the engine would not take: `dest` is its flag's destination, `knobs` those whose texts are in it."""

    entry: JsonFlag
    dest: str
    knobs: list[Knob]
    problem: str


def misfits(resolution: Resolution) -> Iterator[Misfit]:
    """The configurations that a knob's text made unfit. Looks at nothing where no such knob was given."""
    rules = resolution.rules
    given = [
        rules.knobs[name]
        for name, reading in resolution.readings.items()
        if reading.state == GIVEN and rules.knobs[name].type in FREE
    ]
    if not given:
        return
    read = resolution.resolver.plan(resolution.engine).read
    for entry in (e for e in rules.argv if isinstance(e, JsonFlag)):
        sources = {key.source for key in entry.keys}
        knobs = [knob for knob in given if sources & {knob.name, *knob.sets}]
        dest = read[entry.flag]
        schema = resolution.engine.configs.get(dest) if dest else None
        if not knobs or dest is None or schema is None or dest in resolution.passthrough.flags:
            continue
        text = _rendered(resolution, entry)
        problem = misfit(schema, json.loads(text)) if text is not None else None
        if problem is not None:
            yield Misfit(entry, dest, knobs, problem)


def unfit(resolution: Resolution) -> Iterator[Diagnostic]:
    """One refusal for each configuration that a knob's text made unfit."""
    for found in misfits(resolution):
        names = " or ".join(knob.env for knob in found.knobs)
        yield Diagnostic(
            "refuse",
            "engine-refuses-configuration",
            f"vLLM {resolution.engine.version} would not take {found.entry.flag} with this {names}: {found.problem}",
            f"correct {names}, or unset it",
            causes=tuple(cause for knob in found.knobs for cause in cause_of(resolution, knob.name)),
        )


def _rendered(resolution: Resolution, entry: JsonFlag) -> str | None:
    """The launcher's own value of the flag; None where the launch has none."""
    tokens = resolution.rendered.tokens
    for flag, value in pairwise(tokens):
        if flag.text == entry.flag and flag.source != "user":
            return value.text
    return None
