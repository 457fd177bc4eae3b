"""Names outside conditions and values: what knobs set, what messages show, what refusals propose, what render.yaml renders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from resolver.diagnostics import Position
from resolver.expressions import Const, Name
from resolver.knobs import GIVEN, read_text
from resolver.load import order
from resolver.load.collect import Collector
from resolver.model import Entry, Flag, Guard, JsonFlag, Knob, Profile, Variable, Words
from resolver.names import Scope
from resolver.yaml12 import Document

HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")
"""A name in a message, to be replaced by its value."""


def check_knobs(scope: Scope, knobs: Mapping[str, Knob], document: Document, collect: Collector) -> None:
    """What a knob `sets` exists, and its default is a text that a user might give."""
    for knob in knobs.values():
        for name in knob.sets:
            where = document.position(("knobs", knob.name, "sets"))
            order.check_name(Scope((), (), scope.settings, ()), name, where, collect)
        if knob.default is not None:
            reading = read_text(knob._replace(default=None), knob.default)
            if reading.state != GIVEN:
                collect.fail(
                    "knob",
                    f"{knob.name}: the default {knob.default!r} {reading.problem or 'is empty'}",
                    document.position(("knobs", knob.name, "default")),
                    reading.fix,
                )


def check_guards(scope: Scope, guards: Iterable[Guard], collect: Collector) -> None:
    """Names in reasons and fixes, and knobs in `instead`."""
    knobs = Scope(scope.knobs, (), (), ())
    for guard in guards:
        for text in (guard.reason, guard.fix or ""):
            for name in HOLE.findall(text):
                order.check_name(scope, name, guard.position, collect)
        for change in guard.instead:
            for name in change:
                order.check_name(knobs, name, guard.position, collect)


def check_render(scope: Scope, argv: Iterable[Entry], variables: Mapping[str, Variable], collect: Collector) -> None:
    """All that render.yaml renders is a knob or a setting."""
    for entry in argv:
        if isinstance(entry, Flag):
            _rendered(scope, entry.source, entry.position, collect)
        elif isinstance(entry, JsonFlag):
            for name in (entry.gate, *(key.source for key in entry.keys)):
                _rendered(scope, name, entry.position, collect)
        elif isinstance(entry, Words):
            for word in entry.words:
                if isinstance(word, Name):
                    _rendered(scope, word.name, entry.position, collect)
                elif not isinstance(word, Const):
                    collect.fail("render", "a word is a literal or a name", entry.position, "compute it in a setting")
    for variable in variables.values():
        for name in (variable.source, variable.unset):
            _rendered(scope, name, variable.position, collect)


def _rendered(scope: Scope, name: str | None, position: Position, collect: Collector) -> None:
    if name is None:
        return
    order.check_name(scope, name, position, collect)
    meaning = scope.meaning(name)
    if meaning is not None and meaning.kind not in ("knob", "setting"):
        collect.fail(
            "render", f"{name} is not a knob or a setting, so it cannot be rendered", position, "make a setting of it"
        )


def check_profiles(
    profiles: Mapping[str, Profile], knobs: Mapping[str, Knob], document: Document, collect: Collector
) -> None:
    """Every knob that a profile sets exists and takes the text."""
    for profile in profiles.values():
        for name, text in profile.knobs.items():
            path = ("profiles", profile.name, "knobs", name)
            knob = knobs.get(name)
            if knob is None:
                order.check_name(Scope(knobs, (), (), ()), name, document.position(path, key=True), collect)
                continue
            reading = read_text(knob, text)
            if reading.problem:
                message = f"profile {profile.name}: {name} {reading.problem}"
                collect.fail("profile", message, document.position(path), reading.fix)
