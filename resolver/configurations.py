"""Whether the engine takes the configurations that the launcher writes: free texts of knobs end up in them, which nothing else checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from resolver.causes import cause_of
from resolver.diagnostics import Diagnostic
from resolver.knobs import GIVEN
from resolver.model import JsonFlag
from resolver.passthrough.fits import misfit

if TYPE_CHECKING:
    from resolver.resolution import Resolution

FREE = ("text", "json")
"""Types of knobs whose values no list limits."""


def unfit(resolution: Resolution) -> Iterator[Diagnostic]:
    """One refusal for each configuration that a knob's text made unfit. Looks at nothing where no such knob was given."""
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
        if not knobs or schema is None or dest in resolution.passthrough.flags:
            continue
        text = _rendered(resolution, entry)
        problem = misfit(schema, json.loads(text)) if text is not None else None
        if problem is not None:
            names = " or ".join(knob.env for knob in knobs)
            yield Diagnostic(
                "refuse",
                "engine-refuses-configuration",
                f"vLLM {resolution.engine.version} would not take {entry.flag} with this {names}: {problem}",
                f"correct {names}, or unset it",
                causes=tuple(cause for knob in knobs for cause in cause_of(resolution, knob.name)),
            )


def _rendered(resolution: Resolution, entry: JsonFlag) -> str | None:
    """The launcher's own value of the flag; None where the launch has none."""
    tokens = resolution.rendered.tokens
    for flag, value in pairwise(tokens):
        if flag.text == entry.flag and flag.source != "user":
            return value.text
    return None
