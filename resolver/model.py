"""The rules as data: what profiles.yaml and rules/ say, read and checked, before anything is compiled.

Named tuples: every start defines these classes, which costs a fifth of defining frozen dataclasses, and unpickles some thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from resolver.conditions import Condition
from resolver.diagnostics import Position
from resolver.expressions import Expression

Value = str | int | bool | None
Empty = Literal["default", "value"]
GuardSeverity = Literal["refuse", "warn", "note"]
_NOTHING: Mapping[str, Any] = {}


class Knob(NamedTuple):
    """What a user may set. `empty` says what the empty text means: the default, or a value of its own (`empty_means`)."""

    name: str
    env: str
    type: str
    help: str
    position: Position
    allowed: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    default: str | None = None
    default_says: str | None = None
    empty: Empty = "default"
    empty_means: str | None = None
    sets: tuple[str, ...] = ()
    exported: bool = False
    explicit_matters: str | None = None
    never_suggested: bool = False
    invalid_origin: str | None = None
    origins: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def secret(self) -> bool:
        return self.type == "secret"


class Fact(NamedTuple):
    """A property of the machine or the engine that conditions may read."""

    name: str
    type: str
    help: str
    position: Position


class Row(NamedTuple):
    """One row of a setting table: the first whose `when` holds gives the value."""

    when: Condition
    value: Expression
    position: Position
    because: str | None = None
    figures: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class Setting(NamedTuple):
    """One computed value of the launch and the only table that defines it."""

    name: str
    rows: tuple[Row, ...]
    position: Position
    help: str | None = None
    origins: tuple[str, ...] = ()


class Example(NamedTuple):
    """A request that shows a guard or an arm at work. `with_facts` overrides facts of the machine."""

    position: Position
    profile: str | None = None
    machine: str | None = None
    engine: str | None = None
    knobs: Mapping[str, str] = _NOTHING
    args: tuple[str, ...] = ()
    with_facts: Mapping[str, Any] = _NOTHING


class Guard(NamedTuple):
    """A condition with a severity. `reason` and `fix` may hold {names}; `since` counts from that engine version, `until` ends before it."""

    id: str
    severity: GuardSeverity
    reason: str
    when: Condition
    position: Position
    fix: str | None = None
    instead: tuple[Mapping[str, str | None], ...] = ()
    origins: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    fires: tuple[Example, ...] = ()
    silent: tuple[Example, ...] = ()
    arm: str | None = None


class Arm(NamedTuple):
    """One entry of the matrix. `when`: it is a candidate; it is taken when `chosen_by` (asked for by name) or `eligible` holds, or when it has neither."""

    name: str
    help: str
    when: Condition
    position: Position
    sets: Mapping[str, Expression]
    chosen_by: Condition | None = None
    eligible: Condition | None = None
    capabilities: tuple[str, ...] = ()
    measured: Mapping[str, str] = _NOTHING
    figures: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    taken: tuple[Example, ...] = ()
    passed_over: tuple[Example, ...] = ()


class Profile(NamedTuple):
    """A name people type: texts of knobs."""

    name: str
    help: str
    knobs: Mapping[str, str]
    position: Position


class Words(NamedTuple):
    """Words of argv that are always there; each is an expression."""

    words: tuple[Expression, ...]
    position: Position


class Flag(NamedTuple):
    """A flag with the value of `source`; null leaves it out. `joined`: one word with `=`.

    `bare`: the flag stands alone for a switch that is on, `off` for one that is off. `abbreviates`: the destination that a
    shortened spelling means.
    """

    flag: str
    source: str
    position: Position
    joined: bool = False
    off: str | None = None
    bare: bool = False
    abbreviates: str | None = None


class JsonKey(NamedTuple):
    """One key: the value of `source` (`verbatim`: its text is JSON already), or `literal` when there is no source."""

    key: str
    source: str | None = None
    verbatim: bool = False
    literal: Any = None


class JsonFlag(NamedTuple):
    """A flag whose value is an ordered JSON object; `gate` null leaves the whole flag out, a null key only itself."""

    flag: str
    keys: tuple[JsonKey, ...]
    position: Position
    gate: str | None = None
    abbreviates: str | None = None


class UserWords(NamedTuple):
    """Where the engine flags that the user typed stand."""

    position: Position


Entry = Words | Flag | JsonFlag | UserWords


class Variable(NamedTuple):
    """What becomes of one environment variable: set to `source` unless null; unset when `unset` holds a value; else left."""

    name: str
    position: Position
    source: str | None = None
    unset: str | None = None
    origins: tuple[str, ...] = ()


class Implementation(NamedTuple):
    """A numbered rule that code implements, or that was dropped; `where` is `module:name`, or None when dropped."""

    origin: str
    says: str
    position: Position
    where: str | None = None


class Rules(NamedTuple):
    """Everything that profiles.yaml and rules/ say. `order` lists the settings so that each stands after what it reads.

    `plugin_overlays`: by plugin, the overlay it brings and the engine versions that the overlay is for.
    """

    knobs: Mapping[str, Knob]
    facts: Mapping[str, Fact]
    settings: Mapping[str, Setting]
    guards: Mapping[str, Guard]
    arms: Mapping[str, Arm]
    profiles: Mapping[str, Profile]
    argv: tuple[Entry, ...]
    variables: Mapping[str, Variable]
    implementations: tuple[Implementation, ...]
    order: tuple[str, ...]
    render_origins: tuple[str, ...] = ()
    plugin_overlays: Mapping[str, tuple[str, tuple[str, ...]]] = _NOTHING
