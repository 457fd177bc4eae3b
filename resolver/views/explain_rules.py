"""What does an arm, a rule, a variable or a numbered rule say, and what does it do in this launch?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from resolver import expressions
from resolver.compile.helpers import show
from resolver.diagnose import fill
from resolver.expressions import Const
from resolver.interpret import holds, unknown_behind
from resolver.model import Example
from resolver.views import explain_names as about
from resolver.views import explain_parts as parts
from resolver.views.explain_render import variables

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def about_variable(resolution: Resolution, name: str) -> dict[str, Any]:
    """A variable of the engine's environment."""
    declared = resolution.rules.variables[name]
    changed = [v for v in variables(resolution) if v["name"] == name]
    names = [n for n in (declared.source, declared.unset) if n]
    return {
        "kind": "variable",
        "name": name,
        "action": changed[0]["action"] if changed else "left as the caller has it",
        "value": changed[0]["value"] if changed else None,
        "entry": str(declared.position),
        "origins": list(declared.origins),
        "from": [about.one(resolution, n) for n in names],
    }


def about_arm(resolution: Resolution, name: str) -> dict[str, Any]:
    """An arm: whether it is taken and why, what it sets and needs, and who measured it."""
    a = resolution.rules.arms[name]
    taken = resolution.setting("arm") == name
    needs = [g for g in resolution.rules.guards.values() if g.arm == name]
    return {
        "kind": "arm",
        "name": name,
        "help": a.help,
        "position": str(a.position),
        "taken": taken,
        "instead": None if taken else resolution.setting("arm"),
        "candidate": holds(resolution, a.when),
        "when": _condition(resolution, a.when),
        "chosen_by": _condition(resolution, a.chosen_by),
        "eligible": _condition(resolution, a.eligible),
        "sets": {
            k: show(e.value) if isinstance(e, Const) else f"= {' '.join(expressions.names(e))}"
            for k, e in a.sets.items()
        },
        "needs": [about_rule(resolution, g.id) for g in needs],
        "measured": dict(a.measured),
        "figures": figures(resolution, a.figures),
        "origins": list(a.origins),
        "examples": {
            "taken": [_example(resolution, e) for e in a.taken],
            "passed_over": [_example(resolution, e) for e in a.passed_over],
        },
    }


def _condition(resolution: Resolution, condition: Any) -> dict[str, Any] | None:
    if condition is None:
        return None
    return {
        "says": parts.words(resolution, condition),
        "true": holds(resolution, condition),
        "leaves": parts.leaves(resolution, condition),
    }


def about_rule(resolution: Resolution, name: str) -> dict[str, Any]:
    """A guard: its condition leaf by leaf, the reason, the ways out, evidence, versions, examples, and whether it speaks here."""
    g = resolution.rules.guards[name]
    fired = any(f.id == name for f in resolution.fired)
    ways = [
        " ".join(
            f"{resolution.rules.knobs[k].env}={v}" if v is not None else f"{resolution.rules.knobs[k].env} unset"
            for k, v in way.items()
        )
        for way in g.instead
    ]
    return {
        "kind": "rule",
        "name": name,
        "severity": g.severity,
        "position": str(g.position),
        "fires": fired,
        "reason": fill(resolution, g.reason) if fired else g.reason,
        "fix": (fill(resolution, g.fix) if fired else g.fix) if g.fix else None,
        "instead": ways,
        "when": _condition(resolution, g.when),
        "unknown": list(unknown_behind(resolution, g.when, fired)),
        "since": g.since,
        "until": g.until,
        "arm": g.arm,
        "figures": figures(resolution, g.figures),
        "origins": list(g.origins),
        "examples": {
            "fires": [_example(resolution, e) for e in g.fires],
            "silent": [_example(resolution, e) for e in g.silent],
        },
    }


def about_origin(resolution: Resolution, number: str) -> list[dict[str, Any]]:
    """All that implements a numbered rule of the old launcher."""
    rules = resolution.rules
    found: list[tuple[tuple[str, ...], Callable[[], dict[str, Any]]]] = []
    for s in rules.settings.values():
        if s.name != "arm":
            origins = (*s.origins, *(o for row in s.rows for o in row.origins))
            found.append((origins, lambda n=s.name: parts.setting(resolution, n)))  # type: ignore[misc]
    found += [(g.origins, lambda n=g.id: about_rule(resolution, n)) for g in rules.guards.values()]  # type: ignore[misc]
    found += [(a.origins, lambda n=a.name: about_arm(resolution, n)) for a in rules.arms.values()]  # type: ignore[misc]
    for k in rules.knobs.values():
        found.append(((*k.origins, k.invalid_origin or ""), lambda n=k.name: about.knob(resolution, n)))  # type: ignore[misc]
    found += [(v.origins, lambda n=v.name: about_variable(resolution, n)) for v in rules.variables.values()]  # type: ignore[misc]
    out = [made() for origins, made in found if number in origins]
    for i in rules.implementations:
        if i.origin == number:
            out.append({"kind": "code", "name": number, "says": i.says, "where": i.where, "position": str(i.position)})
    return out


def _example(resolution: Resolution, example: Example) -> str:
    known = resolution.rules.knobs
    knobs = [f"{known[k].env if k in known else k}={v}" for k, v in example.knobs.items()]
    facts = [f"with {k} = {v}" for k, v in example.with_facts.items()]
    machine = [f"--machine {example.machine}"] if example.machine else []
    profile = [f"--profile {example.profile}"] if example.profile else []
    args = ["--", *example.args] if example.args else []
    return " ".join([*profile, *machine, *knobs, *args, *facts])


def figures(resolution: Resolution, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """The evidence that is quoted: value, hardware, engine, date, quality; what is not known is null."""
    if not ids:
        return []
    from resolver.views.evidence import load_evidence
    from resolver.views.figures import value_text

    known = load_evidence(resolution.resolver.root).figures
    return [
        {
            "id": f.id,
            "metric": f.metric,
            "value": value_text(f),
            "hardware": f.hardware,
            "engine": f.engine,
            "date": f.date,
            "quality": f.quality,
            "source": f.source,
            "position": str(f.position),
        }
        for f in (known[i] for i in ids if i in known)
    ]
