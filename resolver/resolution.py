"""The answer to one request: every value with the row that gave it, the guards that fired, argv and environment. All views read this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from resolver import coercions
from resolver.diagnostics import Diagnostic
from resolver.engine import Engine
from resolver.facts import Machine
from resolver.knobs import UNSET, Reading
from resolver.model import Guard, Row
from resolver.passthrough import Passthrough
from resolver.render import Rendered
from resolver.request import Request

if TYPE_CHECKING:
    from resolver.resolve import Resolver


@dataclass(slots=True, eq=False, repr=False)
class _State:
    """What one pass over the settings and guards gives."""

    states: dict[str, int]
    values: dict[str, Any]
    texts: dict[str, str | None]
    setting_values: list[Any]
    setting_texts: list[str | None]
    rows: list[int]
    fired: list[int] = field(default_factory=list)


class Resolution:
    """One launch or refusal. `argv` and `environment()` are what is executed; nothing else is computed for any view."""

    def __init__(
        self,
        resolver: Resolver,
        request: Request,
        machine: Machine,
        engine: Engine,
        facts: Mapping[str, Any],
        passthrough: Passthrough,
        readings: Mapping[str, Reading],
        state: _State,
        rendered: Rendered,
    ) -> None:
        self.resolver = resolver
        self.rules = resolver.rules
        self.request = request
        self.machine = machine
        self.engine = engine
        self.facts = facts
        self.passthrough = passthrough
        self.readings = readings
        self.state = state
        self.rendered = rendered
        self.causes_behind: dict[str, tuple[str, ...]] = {}

    # values

    def knob_state(self, name: str) -> int:
        return self.state.states[name]

    def setting(self, name: str) -> Any:
        """The value of a setting."""
        return self.state.setting_values[self.resolver.number[name]]

    def winning_row(self, name: str) -> Row | None:
        """The row that gave the setting its value; None when no row matched."""
        i = self.state.rows[self.resolver.number[name]]
        return None if i < 0 else self.rules.settings[name].rows[i]

    def render_lookup(self, name: str) -> tuple[Any, str | None]:
        """Value and own text of a knob or setting."""
        i = self.resolver.number.get(name)
        if i is not None:
            return self.state.setting_values[i], self.state.setting_texts[i]
        return self.state.values[name], self.state.texts[name]

    def lookup(self, name: str) -> Any:
        """The value of any name that conditions may read."""
        meaning = self.resolver.scope.meaning(name)
        assert meaning is not None, name
        if meaning.kind in ("knob", "setting"):
            return self.render_lookup(name)[0]
        if meaning.kind == "fact":
            return self.facts.get(meaning.base)
        if meaning.kind == "extra_last":
            return self.passthrough.last.get(meaning.base)
        if meaning.kind == "extra_any":
            return self.passthrough.every.get(meaning.base, ())
        if meaning.kind == "extra_set":
            return self.passthrough.flags if name == "extra.flags" else self.shadowed
        if meaning.kind == "choices":
            return self.engine.choices(meaning.base)
        if meaning.kind == "file":
            path = self.setting(meaning.base)
            return getattr(self.resolver.look(self.machine)(path), meaning.part)
        value, text = self.render_lookup(meaning.base)
        return coercions.read(meaning.part, text if meaning.base in self.rules.knobs else value)

    @property
    def shadowed(self) -> frozenset[str]:
        """The user's flags that the launcher sets as well; the user's come later and win."""
        return self.passthrough.flags & self.rendered.destinations

    # the answer

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything to say, refusals first."""
        from resolver.diagnose import diagnose

        order = {"error": 0, "refuse": 0, "warn": 1, "note": 2}
        return tuple(sorted(diagnose(self), key=lambda d: order[d.severity]))

    @property
    def fired(self) -> Iterator[Guard]:
        """The guards that fired."""
        return (self.resolver.guard_list[i] for i in self.state.fired)

    @cached_property
    def refused(self) -> bool:
        """Whether nothing may be launched. Whoever wants the diagnostics too asks for those first: all is then found once."""
        if "diagnostics" in self.__dict__:
            return any(d.severity in ("refuse", "error") for d in self.diagnostics)
        if self.request.problems or any(r.problem for r in self.readings.values()):
            return True
        if any(self.resolver.refusing[i] for i in self.state.fired):
            return True
        from resolver.diagnose import diagnose

        return any(d.severity in ("refuse", "error") for d in diagnose(self, refusals_only=True))

    @property
    def argv(self) -> list[str]:
        return [token.text for token in self.rendered.tokens]

    def environment(self) -> dict[str, str]:
        """The environment of the engine: the caller's, plus what is set, minus what is unset. Holds secrets of the caller."""
        removed = set(self.rendered.unset_variables)
        out = {k: v for k, v in self.request.environ.items() if k not in removed}
        return out | dict(self.rendered.set_variables)

    @cached_property
    def set_variables(self) -> dict[str, str]:
        """What the engine gets beside the caller's environment: the rendered variables, and knobs that are themselves variables
        of the engine and were given elsewhere than in that environment. Secrets are left out."""
        caller, environ = self.request.caller, self.request.environ
        given = {
            knob.env: environ[knob.env]
            for knob in (self.rules.knobs.values() if caller is not None else ())
            if knob.exported
            and not knob.secret
            and knob.env in environ
            and environ[knob.env] != (caller or {}).get(knob.env)
        }
        removed = self.rendered.unset_variables
        return {k: v for k, v in given.items() if k not in removed} | dict(self.rendered.set_variables)

    @cached_property
    def effective_knobs(self) -> dict[str, str]:
        """The knobs in force by variable name, as given back they give the same launch. Secrets are left out."""
        out = {}
        for name, given in self.request.knobs.items():
            knob = self.rules.knobs[name]
            if not knob.secret and not (self.readings[name].problem or self.readings[name].state == UNSET):
                out[knob.env] = given.text
        return out
