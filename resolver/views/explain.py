"""What is launched and why: a whole launch, or one setting, flag, variable, knob, fact, arm or rule, as plain data (schema 1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from resolver.compile.helpers import show
from resolver.diagnostics import UsageError, nearest
from resolver.masking import secret_flag
from resolver.model import Flag, JsonFlag
from resolver.views import explain_names as about
from resolver.views.explain_render import left_out, tokens, variables
from resolver.views.explain_rules import about_arm, about_origin, about_rule, about_variable
from resolver.views.result import shown_knobs

if TYPE_CHECKING:
    from resolver.resolution import Resolution

SCHEMA = 1


def explain(
    resolution: Resolution, what: str | None = None, items: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Everything about the launch, about one thing in it, or around `items` made elsewhere. Raises UsageError when nothing is called `what`."""
    if items is None:
        items = [_launch(resolution)] if what is None else find(resolution, what)
    return {
        "schema": SCHEMA,
        "profile": resolution.request.profile,
        "machine": resolution.machine.name,
        "engine": resolution.engine.name,
        "ok": not resolution.refused,
        "arm": resolution.setting("arm"),
        "what": what,
        "items": items,
    }


def _launch(resolution: Resolution) -> dict[str, Any]:
    words, changed, out = tokens(resolution), variables(resolution), left_out(resolution)
    names = dict.fromkeys(name for item in (*words, *changed, *out) for name in item["from"])
    names["arm"] = None
    return {
        "kind": "launch",
        "name": resolution.request.profile or "no profile",
        "tokens": words,
        "variables": changed,
        "left_out": out,
        "names": {name: about.one(resolution, name) for name in _closure(resolution, list(names))},
        "knobs": shown_knobs(resolution),
        "diagnostics": [d.as_json() for d in resolution.diagnostics],
    }


def _closure(resolution: Resolution, names: list[str]) -> list[str]:
    """The names, and all that their winning rows read."""
    from resolver import expressions
    from resolver.conditions import Ref
    from resolver.interpret import deciding

    for name in names:
        meaning = resolution.resolver.scope.meaning(name)
        row = resolution.winning_row(meaning.base) if meaning and meaning.base in resolution.rules.settings else None
        if row is None:
            continue
        read = list(expressions.names(row.value))
        for leaf in deciding(resolution, row.when, True):
            read += [leaf.name, *([leaf.operand.name] if isinstance(leaf.operand, Ref) else [])]
        for found in read:
            base = resolution.resolver.scope.meaning(found)
            wanted = base.base if base and base.kind in ("reading", "file") else found
            if wanted not in names:
                names.append(wanted)
    return sorted(names)


# finding what is meant


def find(resolution: Resolution, what: str) -> list[dict[str, Any]]:
    """All that the word means, by name, flag, variable, or numbered rule. Raises UsageError with the nearest name."""
    rules = resolution.rules
    found: list[dict[str, Any]] = []
    lower = what.lower().replace("-", "_")
    if what.startswith("-"):
        return [flag(resolution, what)]
    for name in dict.fromkeys((what, lower)):
        if name in rules.settings or name in rules.facts:
            found.append(about.one(resolution, name))
    knob = resolution.resolver.table.by_variable.get(what.upper())
    if knob is None and lower in rules.knobs:
        knob = rules.knobs[lower]
    if knob is not None:
        found.append(about.knob(resolution, knob.name))
    if what in rules.variables:
        found.append(about_variable(resolution, what))
    if what in rules.arms:
        found.append(about_arm(resolution, what))
    if what in rules.guards:
        found.append(about_rule(resolution, what))
    if re.fullmatch(r"R[0-9]+[a-z]?", what):
        found += about_origin(resolution, what)
    if not found and resolution.engine.destination("--" + lower.replace("_", "-")):
        found.append(flag(resolution, "--" + lower.replace("_", "-")))
    if found:
        return found
    known = [
        *rules.settings,
        *rules.facts,
        *resolution.resolver.table.by_variable,
        *rules.variables,
        *rules.arms,
        *rules.guards,
    ]
    near = nearest(what, known)
    raise UsageError(
        f"nothing is called {what!r}",
        f"did you mean {near}?"
        if near
        else "name a setting, a flag such as --max-num-seqs, a variable, a knob, an arm or a rule",
    )


def flag(resolution: Resolution, word: str) -> dict[str, Any]:
    """An engine flag: what the launcher renders and what the user's own flags say. Raises UsageError for no flag of the engine."""
    engine = resolution.engine
    name = "--" + word[2:].replace("_", "-") if word.startswith("--") else word
    dest = engine.destination(name) if name.startswith("--") else engine.spellings.get(name)
    if dest is None:
        near = nearest(name, list(engine.spellings))
        raise UsageError(
            f"vLLM {engine.name} has no flag {word}", f"did you mean {near}?" if near else "see `vllm serve --help`"
        )
    rendered = [t for t in tokens(resolution) if not t.get("user") and _dest(resolution, t["text"]) == dest]
    entries = [
        e for e in resolution.rules.argv if isinstance(e, (Flag, JsonFlag)) and engine.destination(e.flag) == dest
    ]
    names: list[str] = []
    for entry in entries:
        names += (
            [entry.source]
            if isinstance(entry, Flag)
            else [n for n in [entry.gate, *(k.source for k in entry.keys)] if n]
        )
    hidden = secret_flag(name)
    own = [
        None if v is None else "(not shown)" if hidden else show(v) for v in resolution.passthrough.every.get(dest, ())
    ]
    info = engine.flags[dest]
    return {
        "kind": "flag",
        "name": (info["spellings"] or [name])[0],
        "entries": [str(e.position) for e in entries],
        "words": [t["text"] for t in tokens(resolution) if t["entry"] in [str(e.position) for e in entries]],
        "rendered": bool(rendered),
        "user": own,
        "wins": "user" if own else "launcher" if rendered else "engine's default",
        "engine_default": info.get("default"),
        "choices": list(info["choices"] or ()),
        "from": [about.one(resolution, n) for n in dict.fromkeys(names)],
    }


def _dest(resolution: Resolution, word: str) -> str | None:
    return resolution.engine.destination(word.partition("=")[0]) if word.startswith("--") else None
