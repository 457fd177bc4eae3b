"""What is held fixed, what may be otherwise? The user's and the machine's assumptions, and launches that mix them with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from resolver import conditions, expressions
from resolver.conditions import Ref
from resolver.facts import Machine
from resolver.knobs import Given
from resolver.machines import load_machine, with_facts
from resolver.masking import mask
from resolver.model import Example
from resolver.request import Request, build
from resolver.views.explain_parts import origin_of, text_of
from resolver.views.suggest_draft import layer, shown
from resolver.views.suggest_flags import NO_FLAG, groups, stray

if TYPE_CHECKING:
    from resolver.resolution import Resolution

EXAMPLE_MACHINE = "rtx-3090"


@dataclass(frozen=True, slots=True)
class Assumption:
    """One thing that holds: a knob, a profile's knob, an engine flag, a fact, a plugin, the engine, or the files."""

    kind: str
    name: str
    says: str
    origin: str
    shown: str | None = None
    """The name as it may be shown, where that is a word that the user typed."""

    def as_json(self) -> dict[str, str]:
        """Plain data, without secrets."""
        return {"kind": self.kind, "name": self.shown or self.name, "says": self.says, "origin": self.origin}


@dataclass(frozen=True, slots=True)
class Point:
    """One launch to try: request, machine, engine."""

    request: Request
    machine: Machine
    engine: str


def assumptions(resolution: Resolution) -> list[Assumption]:
    """All that the user chose and all of the machine that a refusal or an arm may rest on."""
    out = []
    rules = resolution.rules
    for name, given in resolution.request.knobs.items():
        knob = rules.knobs[name]
        if knob.secret or name == "extra_args":
            continue
        out.append(Assumption("knob", name, f"{knob.env}={shown(knob, given.text)}", given.origin))
    words = resolution.passthrough.words
    for dest, start, end in groups(resolution.engine, words):
        label = dest or words[start]
        origin = "after --" if end > len(words) - len(resolution.request.args) else "EXTRA_ARGS"
        if not any(a.kind == "flag" and a.name == label for a in out):
            flag = mask(words[start:end])[0].partition("=")[0]
            says = NO_FLAG if stray(words[start]) else f"the engine flag {flag}"
            out.append(Assumption("flag", label, says, origin, None if dest else says))
    plugins, facts = _facts_read(resolution)
    for name in facts:
        value = text_of(resolution, name)
        out.append(Assumption("fact", name, f"{name} is {value or 'unknown'}", origin_of(resolution, name)))
    installed = resolution.facts.get("installed") or ()
    where = origin_of(resolution, "installed")
    for plugin in plugins:
        has = "installed" if plugin in installed else "not installed"
        out.append(Assumption("plugin", plugin, f"the plugin {plugin} is {has}", where))
    out.append(Assumption("engine", "engine", f"the engine is vLLM {resolution.engine.name}", where))
    if any(m.kind == "file" for m in _meanings(resolution)):
        out.append(Assumption("files", "files", "the model folders are as they are", where))
    return out


def _conditions(resolution: Resolution) -> Iterator[conditions.Condition]:
    for arm in resolution.rules.arms.values():
        yield from (c for c in (arm.when, arm.chosen_by, arm.eligible) if c is not None)
    for guard in resolution.rules.guards.values():
        if guard.severity == "refuse":
            yield guard.when
    for setting in resolution.rules.settings.values():
        yield from (row.when for row in setting.rows)


def _meanings(resolution: Resolution) -> Iterator[Any]:
    for condition in _conditions(resolution):
        for name in conditions.names(condition):
            meaning = resolution.resolver.scope.meaning(name)
            if meaning:
                yield meaning


def _facts_read(resolution: Resolution) -> tuple[list[str], list[str]]:
    plugins: dict[str, None] = {}
    facts: dict[str, None] = {}
    for condition in _conditions(resolution):
        for leaf in conditions.leaves(condition):
            for name in (leaf.name, *([leaf.operand.name] if isinstance(leaf.operand, Ref) else [])):
                if name == "installed":
                    plugins |= dict.fromkeys(map(str, leaf.operand))
                elif _free(resolution, name):
                    facts[name] = None
    for setting in resolution.rules.settings.values():
        for row in setting.rows:
            facts |= dict.fromkeys(n for n in expressions.names(row.value) if _free(resolution, n))
    return sorted(plugins), sorted(facts)


def _free(resolution: Resolution, name: str) -> bool:
    return name in resolution.rules.facts and not name.startswith("engine.") and name not in ("root", "machine")


# points


def example_point(resolution: Resolution, example: Example) -> Point:
    """The launch of an example of the rules."""
    resolver = resolution.resolver
    machine = load_machine(resolver.root, example.machine or EXAMPLE_MACHINE)
    if example.with_facts:
        machine = with_facts(resolver.root, machine, example.with_facts)
    typed = [(name, text, "argument") for name, text in example.knobs.items()]
    asked = build(resolver.rules, resolver.table, profile=example.profile, assignments=typed, args=example.args)
    return Point(asked, machine, example.engine or machine.engine or resolution.engine.name)


def here(resolution: Resolution) -> Point:
    """The launch as it was asked."""
    asked = resolution.request
    if asked.caller is not None:
        asked = replace(asked, environ=asked.caller, caller=None)
    return Point(asked, resolution.machine, resolution.engine.name)


def mixed(resolution: Resolution, fixed: Iterable[Assumption], other: Point, kept: Iterable[Assumption]) -> Point:
    """The other launch, but with what is fixed as it is here. `kept`: all assumptions; those not fixed are given up."""
    fixed = list(fixed)
    by_kind: dict[str, set[str]] = {}
    for a in fixed:
        by_kind.setdefault(a.kind, set()).add(a.name)
    return Point(
        _request(resolution, by_kind, other.request),
        _machine(resolution, by_kind, other.machine, kept),
        resolution.engine.name if "engine" in by_kind else other.engine,
    )


def _request(resolution: Resolution, fixed: Mapping[str, set[str]], other: Request) -> Request:
    mine = here(resolution).request
    table = resolution.resolver.table
    knobs = {n: Given(g.text, "argument") for n, g in other.knobs.items()}
    held = fixed.get("knob", set())
    knobs |= {n: g for n, g in mine.knobs.items() if n in held or table.knobs[n].secret}
    known = mine.profile in resolution.rules.profiles
    whole = known and all(n in held for n, g in mine.knobs.items() if layer(g) == "profile")
    if not whole:
        knobs = {n: Given(g.text, "argument") if layer(g) == "profile" else g for n, g in knobs.items()}
    environ = {
        k: v
        for k, v in mine.environ.items()
        if k not in table.by_variable
        or table.knobs[table.by_variable[k].name].secret
        or (table.by_variable[k].name in held and layer(mine.knobs.get(table.by_variable[k].name)) == "environment")
    }
    knobs.pop("extra_args", None)
    args = _args(resolution, fixed.get("flag", set()), other.args)
    return Request(knobs, environ, args, mine.profile if whole else None, ())


def _args(resolution: Resolution, held: set[str], others: Sequence[str]) -> tuple[str, ...]:
    """The engine flags that are held, behind the other launch's own."""
    words = resolution.passthrough.words
    mine = [(d, words[a:b]) for d, a, b in groups(resolution.engine, words) if (d or words[a]) in held]
    kept = [w for _, part in mine for w in part]
    if any(dest is None for dest, _ in mine):  # a word that belongs to no flag would become a value of one before it
        return tuple(kept)
    ends = [w for d, a, b in groups(resolution.engine, others) if (d or others[a]) not in held for w in others[a:b]]
    return (*ends, *kept)


def _machine(
    resolution: Resolution, fixed: Mapping[str, set[str]], other: Machine, kept: Iterable[Assumption]
) -> Machine:
    mine = resolution.machine
    free = [a for a in kept if a.kind == "fact" and a.name not in fixed.get("fact", set())]
    facts = dict(mine.facts)
    for a in free:
        facts.pop(a.name, None)
        if a.name in other.facts:
            facts[a.name] = other.facts[a.name]
    plugins = [a.name for a in kept if a.kind == "plugin"]
    held = fixed.get("plugin", set())
    installed = {p for p in mine.facts.get("installed") or () if p not in plugins or p in held}
    installed |= {p for p in other.facts.get("installed") or () if p in plugins and p not in held}
    if "installed" in mine.facts or len(held) < len(plugins):
        facts["installed"] = tuple(sorted(installed))
    files = mine.files if "files" in fixed else other.files
    same = all(facts.get(k) == v for k, v in mine.facts.items()) and len(facts) == len(mine.facts)
    return mine if same and files is mine.files else replace(mine, facts=facts, files=files)
