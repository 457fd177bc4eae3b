"""Knobs, facts and settings that nothing reads: no rule, no rendering, no message, no code, and for exported knobs no engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from resolver import conditions, expressions
from resolver.analysis.finding import Finding, Witness
from resolver.analysis.model import Model
from resolver.analysis.replay import Case, make
from resolver.analysis.texts import OTHERS
from resolver.knobs import GIVEN, read_text
from resolver.model import Flag, JsonFlag, Knob, Words
from resolver.names import row_names
from resolver.resolution import Resolution

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")
_QUOTED = re.compile(r"""["']([a-z][a-z0-9_.]*)["']""")


@lru_cache(maxsize=1)
def read_by_code() -> frozenset[str]:
    """Words that the code quotes: a knob, fact or setting that is named so is read there. The probe writes facts and reads none."""
    home = Path(__file__).resolve().parent
    files = [
        p for p in home.parent.rglob("*.py") if home not in p.parents and "probe" not in str(p.relative_to(home.parent))
    ]
    return frozenset(w for p in files for w in _QUOTED.findall(p.read_text(encoding="utf-8")))


def _names(model: Model) -> Iterator[str]:
    """Every name that a rule, a message or the rendering reads."""
    rules = model.rules
    for name, setting in rules.settings.items():
        for row in setting.rows:
            yield from (n for n in row_names(row) if n != name)
    for guard in rules.guards.values():
        yield from conditions.names(guard.when)
        yield from _HOLE.findall(f"{guard.reason} {guard.fix or ''}")
    for entry in rules.argv:
        if isinstance(entry, Words):
            yield from (n for word in entry.words for n in expressions.names(word))
        elif isinstance(entry, Flag):
            yield entry.source
        elif isinstance(entry, JsonFlag):
            yield from (key.source for key in entry.keys if key.source)
            if entry.gate:
                yield entry.gate
    for variable in rules.variables.values():
        yield from (name for name in (variable.source, variable.unset) if name)


def unread(model: Model) -> Iterator[Finding]:
    """Every name that is defined and read by nothing."""
    rules, scope = model.rules, model.scope
    read = {m.base for n in _names(model) if (m := scope.meaning(n)) is not None} | read_by_code()
    for knob in rules.knobs.values():
        if knob.name in read or knob.type == "ignored" or (knob.exported and _engine_reads(model, knob)):
            continue
        what = "no engine reads its variable" if knob.exported else "nothing reads it"
        yield Finding(
            "unread",
            knob.name,
            f"knob {knob.name}: {what}",
            knob.position,
            "remove it, or let a rule read it",
            _knob(model, knob),
        )
    for fact in rules.facts.values():
        if fact.name not in read:
            yield Finding(
                "unread",
                fact.name,
                f"fact {fact.name}: nothing reads it",
                fact.position,
                "remove it, or let a rule read it",
                _fact(model, fact.name, fact.type),
            )
    for setting in rules.settings.values():
        if setting.name not in read and setting.name != "arm":
            yield Finding(
                "unread",
                setting.name,
                f"setting {setting.name}: nothing reads it",
                setting.position,
                "remove it, or render it",
                _setting(model, setting.name),
            )


def _engine_reads(model: Model, knob: Knob) -> bool:
    return any(knob.env in engine.variables for engine in model.engines)


def _same(a: Resolution, b: Resolution) -> bool:
    """Whether two resolutions launch the same and say the same."""

    def seen(r: Resolution) -> Any:
        said = [(d.severity, d.rule, d.message) for d in r.diagnostics]
        return r.argv, r.rendered.set_variables, r.rendered.unset_variables, r.state.setting_values, said

    return bool(seen(a) == seen(b))


def _pair(model: Model, plain: Case, changed: Case, what: str) -> Witness | None:
    if not _same(plain.resolve(model.resolver), changed.resolve(model.resolver)):
        return None
    return Witness(changed.as_request(model.resolver), f"{what} changes no setting, word, variable or message")


def _knob(model: Model, knob: Knob) -> Witness | None:
    text = next((t for t in (*knob.allowed, *OTHERS) if read_text(knob, t).state == GIVEN), None)
    if text is None or knob.secret:
        return None
    changed = make(model, {})
    changed.knobs[knob.name] = text
    return _pair(model, make(model, {}), changed, f"{knob.env}={text}")


def _fact(model: Model, name: str, kind: str) -> Witness | None:
    changed = make(model, {})
    value: Any = {"bool": True, "int": 7, "set": ("x",), "version": "1.2"}.get(kind, "x")
    changed.facts[name] = value
    return _pair(model, make(model, {}), changed, f"{name}: {value}")


def _setting(model: Model, name: str) -> Witness | None:
    case = make(model, next((c for w in model.rows(name)[0] if (c := model.space.cheapest(w, model.costs))), {}))
    resolution = case.resolve(model.resolver)
    if any(token.source == name for token in resolution.rendered.tokens):
        return None
    return Witness(
        case.as_request(model.resolver),
        f"{name} has the value {resolution.setting(name)!r}, and no word, variable or rule comes from it",
    )
