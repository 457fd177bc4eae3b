"""What to do about a hazard: the fix of the guard that speaks of it, else the command that looks for it, else why nothing is to be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from resolver.model import Guard
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, plain

SPEAKS = {"refuse": "refuses it", "warn": "warns of it", "note": "notes it"}
_HOLE = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.]*\}")


def remedy(links: Links, hazard: Mapping[str, Any], place: Mapping[str, Any], doctor: Mapping[str, str]) -> str:
    """One cell. `place` is where hazard_places.yaml puts it, `doctor` the fixes of the findings by their ids."""
    if "left-out" in place:
        return f"{plain(_lowered(hazard['remedy']))} (left out here: {plain(place['left-out'])})"
    needs = [guard for guard in links.rules.guards.values() if guard.arm in place.get("requirement", ())]
    guards = [*(links.rules.guards[name] for name in place.get("guard", ())), *needs]
    done = [*_guards(links, guards), *_checks(place, doctor)] or [_nothing(links, place)]
    return "; ".join(dict.fromkeys(done))


def _guards(links: Links, guards: list[Guard]) -> Iterator[str]:
    """Each fix once, with the guards that give it."""
    by_fix: dict[str, list[Guard]] = {}
    for guard in guards:
        by_fix.setdefault(fix_of(links, guard), []).append(guard)
    if len(by_fix) > 1:
        by_fix.pop("", None)
    for fix, given_by in by_fix.items():
        named = ", ".join(f"{links.to('guard', guard.id)} {SPEAKS[guard.severity]}" for guard in given_by)
        yield f"{fix} ({named})" if fix else f"nothing to do ({named})"


def fix_of(links: Links, guard: Guard) -> str:
    """The way out as the launcher says it, with `…` for what it fills in; empty when the guard has none."""
    ways = [" and ".join(_change(links, name, value) for name, value in way.items()) for way in guard.instead]
    said = [plain(_HOLE.sub("…", guard.fix))] if guard.fix else []
    return ", or ".join([*said, *ways])


def _change(links: Links, name: str, value: str | None) -> str:
    variable = links.rules.knobs[name].env
    return f"unset {plain(variable)}" if value is None else f"set {code(f'{variable}={value}')}"


def _checks(place: Mapping[str, Any], doctor: Mapping[str, str]) -> Iterator[str]:
    """The commands that look for it, or that measure so that it does not matter."""
    for finding in place.get("doctor", ()):
        yield f"{plain(doctor[finding])} (`launch.py doctor` finds it: {code(finding)})"
    if "readiness" in place:
        yield "start with `launch.py serve`, which looks for it before it says ready"
    for kind, does in (("acceptance", "looks for it"), ("measuring", "sees to it")):
        for name in place.get(kind, ()):
            yield f"run `{command_of(name)}`, which {does}"


def command_of(name: str) -> str:
    """The command that runs this code, `module:name` as hazard_places.yaml has it."""
    from resolver.measure.session import MODULES

    module = name.partition(":")[0]
    if module.startswith("resolver.serving.accept."):
        return "launch.py accept"
    part = module.rpartition(".")[2]
    if part.startswith("matrix"):
        return "launch.py measure --matrix FILE"
    tool = next((tool for tool, of_tool in MODULES.items() if of_tool == part), "")
    return f"launch.py measure {tool}".rstrip()


def _nothing(links: Links, place: Mapping[str, Any]) -> str:
    """Why nobody has to do anything."""
    if "knob" in place:
        named = [links.to("knob", links.rules.knobs[name].env) for name in place["knob"]]
        return f"nothing: {', '.join(named)} {'takes' if len(named) == 1 else 'take'} no such value"
    if "default" in place:
        return f"nothing: the launch avoids it by {', '.join(links.to('setting', name) for name in place['default'])}"
    return "nothing: the launcher sees to it"


def _lowered(remedy: str) -> str:
    """As the other cells are written: no capital unless the word is a name, and no full stop."""
    text = remedy.rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
