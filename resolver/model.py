"""The rules as data: what profiles.yaml and rules/ say, read and checked, before anything is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from resolver.conditions import Condition
from resolver.diagnostics import Position
from resolver.expressions import Expression

Value = str | int | bool | None
Empty = Literal["default", "value"]
GuardSeverity = Literal["refuse", "warn", "note"]


@dataclass(frozen=True)
class Knob:
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


@dataclass(frozen=True)
class Fact:
    """A property of the machine or the engine that conditions may read."""

    name: str
    type: str
    help: str
    position: Position


@dataclass(frozen=True)
class Row:
    """One row of a setting table: the first whose `when` holds gives the value."""

    when: Condition
    value: Expression
    position: Position
    because: str | None = None
    figures: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One computed value of the launch and the only table that defines it."""

    name: str
    rows: tuple[Row, ...]
    position: Position
    help: str | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """A request that shows a guard or an arm at work. `with_facts` overrides facts of the machine."""

    position: Position
    profile: str | None = None
    machine: str | None = None
    engine: str | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    with_facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Guard:
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


@dataclass(frozen=True)
class Arm:
    """One entry of the matrix. `when`: it is a candidate; it is taken when `chosen_by` (asked for by name) or `eligible` holds, or when it has neither."""

    name: str
    help: str
    when: Condition
    position: Position
    sets: Mapping[str, Expression]
    chosen_by: Condition | None = None
    eligible: Condition | None = None
    capabilities: tuple[str, ...] = ()
    measured: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    taken: tuple[Example, ...] = ()
    passed_over: tuple[Example, ...] = ()


@dataclass(frozen=True)
class Profile:
    """A name people type: texts of knobs."""

    name: str
    help: str
    knobs: Mapping[str, str]
    position: Position


@dataclass(frozen=True)
class Words:
    """Words of argv that are always there; each is an expression."""

    words: tuple[Expression, ...]
    position: Position


@dataclass(frozen=True)
class Flag:
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


@dataclass(frozen=True)
class JsonKey:
    """One key: the value of `source` (`verbatim`: its text is JSON already), or `literal` when there is no source."""

    key: str
    source: str | None = None
    verbatim: bool = False
    literal: Any = None


@dataclass(frozen=True)
class JsonFlag:
    """A flag whose value is an ordered JSON object; `gate` null leaves the whole flag out, a null key only itself."""

    flag: str
    keys: tuple[JsonKey, ...]
    position: Position
    gate: str | None = None
    abbreviates: str | None = None


@dataclass(frozen=True)
class UserWords:
    """Where the engine flags that the user typed stand."""

    position: Position


Entry = Words | Flag | JsonFlag | UserWords


@dataclass(frozen=True)
class Variable:
    """What becomes of one environment variable: set to `source` unless null; unset when `unset` holds a value; else left."""

    name: str
    position: Position
    source: str | None = None
    unset: str | None = None
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Implementation:
    """A numbered rule that code implements, or that was dropped; `where` is `module:name`, or None when dropped."""

    origin: str
    says: str
    position: Position
    where: str | None = None


@dataclass(frozen=True)
class Rules:
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
    plugin_overlays: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
