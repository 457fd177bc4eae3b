"""What is one name of the rules in this launch: a setting, a knob with the layers it beat, a fact?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from resolver import conditions, expressions
from resolver.masking import mask_text
from resolver.model import Knob
from resolver.views.explain_parts import STATES, hidden_by, inputs, kind_of, origin_of, setting, text_of

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def knob(resolution: Resolution, name: str) -> dict[str, Any]:
    """A knob: its value and layer, the layers it beat, and what it may be."""
    declared = resolution.rules.knobs[name]
    given = resolution.request.knobs.get(name)
    reading = resolution.readings.get(name)
    out: dict[str, Any] = {
        "name": declared.env,
        "kind": "knob",
        "value": text_of(resolution, name),
        "state": STATES[resolution.knob_state(name)],
        "origin": origin_of(resolution, name),
        "beat": list(_layers(resolution, declared)),
        "help": declared.help,
        "type": declared.type,
        "allowed": list(declared.allowed),
        "default": declared.default_says or declared.default,
        "empty_means": declared.empty_means,
        "position": str(declared.position),
        "origins": list(declared.origins),
        "figures": list(declared.figures),
        "read_by": readers(resolution, name),
    }
    if declared.sets:
        out["gives"] = inputs(resolution, iter(declared.sets))
    if reading is not None and reading.problem and given is not None:
        out["problem"] = f"{declared.env} {reading.problem}"
    hidden = [flag for source in (name, *declared.sets) for flag in hidden_by(resolution, source)]
    if hidden:
        out["hidden_by"] = hidden
    return out


def _layers(resolution: Resolution, knob: Knob) -> Iterator[Mapping[str, str | None]]:
    """What the knob would be without the layer that won."""
    request = resolution.request
    given = request.knobs.get(knob.name)
    if given is None:
        return
    environ = request.environ if request.caller is None else request.caller
    profile = resolution.rules.profiles.get(request.profile or "")
    below = []
    if knob.env in environ and not given.origin.startswith("environment"):
        below.append((environ[knob.env], f"environment {knob.env}"))
    if profile and knob.name in profile.knobs and not given.origin.startswith("profile"):
        below.append((profile.knobs[knob.name], f"profile {profile.name}, {profile.position}"))
    if knob.default is not None or knob.default_says:
        below.append((knob.default or knob.default_says or "", f"default, {knob.position}"))
    for text, origin in below:
        shown = None if knob.secret else mask_text(text) if knob.type == "words" else text
        yield {"value": shown, "origin": origin}


def readers(resolution: Resolution, name: str) -> list[str]:
    """What reads the name: settings and guards."""
    found = [
        f"setting {s.name}"
        for s in resolution.rules.settings.values()
        if any(n == name for row in s.rows for n in (*conditions.names(row.when), *expressions.names(row.value)))
    ]
    return found + [f"rule {g.id}" for g in resolution.rules.guards.values() if name in conditions.names(g.when)]


def fact(resolution: Resolution, name: str) -> dict[str, Any]:
    """A fact of the machine or engine."""
    declared = resolution.rules.facts[name]
    return {
        "name": name,
        "kind": "fact",
        "value": text_of(resolution, name),
        "origin": origin_of(resolution, name),
        "help": declared.help,
        "position": str(declared.position),
        "read_by": readers(resolution, name),
    }


def one(resolution: Resolution, name: str) -> dict[str, Any]:
    """One name that rules read."""
    rules = resolution.rules
    if name in rules.knobs:
        return knob(resolution, name)
    if name in rules.settings:
        return setting(resolution, name)
    if name in rules.facts:
        return fact(resolution, name)
    return {
        "name": name,
        "kind": kind_of(resolution, name),
        "value": text_of(resolution, name),
        "origin": origin_of(resolution, name),
    }
