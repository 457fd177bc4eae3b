"""The core: rules, a request, a machine and an engine in; one Resolution out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from resolver.conditions import Condition
from resolver.engine import DEFAULT_VERSION, Engine
from resolver.facts import UNKNOWN_FILE, FileInfo, Machine
from resolver.knobs import UNSET, KnobTable, Reading
from resolver.model import Rules
from resolver.names import Scope
from resolver.passthrough import read_words, split
from resolver.render import Plan
from resolver.request import Request
from resolver.resolution import Resolution, _State


class Resolver:
    """Compiled rules and the engines used so far. `resolve` is pure: it reads files only through the machine's view."""

    def __init__(
        self,
        root: Path,
        rules: Rules,
        scope: Scope,
        compiled: tuple[Callable[..., Any], Callable[..., Any]],
        load_engine: Callable[[str], Engine],
        table: KnobTable,
    ) -> None:
        self.root = root
        self.rules = rules
        self.scope = scope
        self._settings, self._guards = compiled
        self.table = table
        self.number = {name: i for i, name in enumerate(rules.order)}
        self.guard_list = list(rules.guards.values())
        self.refusing = [guard.severity == "refuse" for guard in self.guard_list]
        self.readers_found: dict[tuple[str, str, str, str], list[str]] = {}
        self.no_engines: set[str] = set()
        self.names_in_row: dict[int, tuple[str, ...]] = {}
        self.facts_in_condition: dict[int, tuple[Condition, tuple[str, ...]]] = {}
        self._load_engine = load_engine
        self._engines: dict[str, Engine] = {}
        self._plans: dict[Engine, Plan] = {}
        self._facts: dict[tuple[int, Engine], tuple[Machine, dict[str, Any]]] = {}
        self._exported = [knob for knob in rules.knobs.values() if knob.exported]

    def engine(self, name: str | None) -> Engine:
        """The engine called `VERSION[+overlay…]`. Raises UsageError for an unknown one."""
        name = name or DEFAULT_VERSION
        if name not in self._engines:
            self._engines[name] = self._load_engine(name)
        return self._engines[name]

    def engine_of(self, machine: Machine, name: str | None = None) -> Engine:
        """The engine asked for, else the machine's; with the overlays that the machine's installed plugins bring."""
        name = name or machine.engine or DEFAULT_VERSION
        version, *overlays = name.split("+")
        for plugin in machine.facts.get("installed") or ():
            overlay, versions = self.rules.plugin_overlays.get(plugin, ("", ()))
            if version in versions and overlay not in overlays:
                overlays.append(overlay)
        return self.engine("+".join([version, *overlays]))

    def plan(self, engine: Engine) -> Plan:
        if engine not in self._plans:
            self._plans[engine] = Plan(self.rules, engine)
        return self._plans[engine]

    @staticmethod
    def look(machine: Machine) -> Callable[[Any], FileInfo]:
        """Looks at a path that a setting holds; null is unknown."""
        files = machine.files
        return lambda path: files.look(path) if isinstance(path, str) and path else UNKNOWN_FILE

    def facts(self, machine: Machine, engine: Engine) -> dict[str, Any]:
        """The facts of machine and engine by name."""
        key = (id(machine), engine)
        if key not in self._facts:
            if len(self._facts) > 256:
                self._facts.clear()
            known = {
                "root": str(self.root),
                "engine.version": engine.version,
                "engine.overlays": engine.overlays,
                "engine.flags": frozenset(engine.flags),
                "engine.variables": engine.variables,
                "machine": machine.name,
            }
            self._facts[key] = (machine, known | dict(machine.facts))
        return self._facts[key][1]

    def resolve(self, request: Request, machine: Machine, engine: Engine | str | None = None) -> Resolution:
        """Resolve one request. Raises UsageError only for an engine that does not exist."""
        if not isinstance(engine, Engine):
            engine = self.engine_of(machine, engine)
        states, values, texts = self.table.start()
        readings: dict[str, Reading] = {}
        for name, given in request.knobs.items():
            reading = readings[name] = self.table.read(name, given.text)
            if reading.state != UNSET:
                states[name], values[name], texts[name] = reading.state, reading.value, reading.text
        words = (*split(texts["extra_args"] or ""), *request.args)
        passthrough = read_words(engine, words)
        plan = self.plan(engine)
        facts = self.facts(machine, engine)
        asked = (states, values, texts, facts, passthrough.last, passthrough.last_text, passthrough.every)
        rest = (passthrough.flags, self.look(machine), engine.choices)
        state = _State(states, values, texts, *self._settings(*asked, *rest))
        environ = self._exports(request, readings)
        if environ is not request.environ:
            request = replace(request, environ=environ, caller=request.environ)
        number, setting_values, setting_texts = self.number, state.setting_values, state.setting_texts

        def lookup(name: str) -> tuple[Any, str | None]:
            i = number.get(name)
            return (values[name], texts[name]) if i is None else (setting_values[i], setting_texts[i])

        rendered = plan.render(lookup, words, environ)
        shadowed = passthrough.flags & rendered.destinations
        state.fired = self._guards(*asked, *rest, shadowed, setting_values)
        return Resolution(self, request, machine, engine, facts, passthrough, readings, state, rendered)

    def _exports(self, request: Request, readings: Mapping[str, Reading]) -> Mapping[str, str]:
        """The caller's environment, in which a knob that is itself an engine's variable stands as it was given, wherever that was."""
        changed = {}
        for knob in self._exported:
            given = request.knobs.get(knob.name)
            if given is not None and request.environ.get(knob.env) != given.text and not readings[knob.name].problem:
                changed[knob.env] = given.text
        return {**request.environ, **changed} if changed else request.environ
