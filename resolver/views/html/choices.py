"""What the matrix page lets its reader choose: machines, profiles, and up to eight knobs with the values to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from resolver.diagnostics import UsageError, nearest
from resolver.knobs import KnobTable
from resolver.machines import names
from resolver.resolve import Resolver

MOST_KNOBS = 8
MOST_ANSWERS = 400_000
"""Answers of one page: about four minutes of two cores, and a file of about 6 MB."""
KNOBS = (
    ("ATTENTION_BACKEND", ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "CUSTOM")),
    ("DRAFT_TOKENS", ("5",)),
    ("DFLASH_TOKENS", ("15",)),
    ("DYNAMIC_K", ("[[1,3,7],[4,512,3]]",)),
    ("PREFIX_CACHE", ("0",)),
    ("VISION", ("1",)),
    ("KV_OFFLOAD_GB", ("16",)),
    ("TENSOR_PARALLEL_SIZE", ("2",)),
)
"""The knobs of the page where the command line names none: those that move a launch to another arm, or between accepted and refused."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of the page. `values` begins with None: not given."""

    variable: str
    help: str
    default: str
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be chosen. The answers of one machine are numbered with the last knob fastest and the profile slowest."""

    machines: tuple[str, ...]
    profiles: tuple[str, ...]
    knobs: tuple[Knob, ...]

    @property
    def a_machine(self) -> int:
        """How many answers one machine has."""
        return len(self.profiles) * prod(len(knob.values) for knob in self.knobs)

    def words(self, machine: str) -> list[list[str]]:
        """The command lines of one machine in the order of their answers, as they are typed after `launch.py`."""
        out = []
        for profile in self.profiles:
            for values in product(*(knob.values for knob in self.knobs)):
                pairs = zip(self.knobs, values, strict=True)
                given = [f"{knob.variable}={value}" for knob, value in pairs if value is not None]
                out.append(["resolve", "--machine", machine, "--profile", profile, *given])
        return out


def choices(resolver: Resolver, named: Sequence[tuple[str, str]]) -> Choices:
    """The choices of the page; `named` are (knob, value) as typed. Raises UsageError for a knob that is not there, or too many."""
    table = resolver.table
    asked: dict[str, list[str]] = {}
    for word, value in named:
        values = asked.setdefault(_variable(table, word), [])
        if value not in values:
            values.append(value)
    if len(asked) > MOST_KNOBS:
        raise UsageError(f"{len(asked)} knobs are named, and the page has room for {MOST_KNOBS}", "name fewer knobs")
    knobs = [_knob(table, name, values) for name, values in (asked.items() if asked else KNOBS)]
    found = Choices(tuple(names(resolver.root)), tuple(resolver.rules.profiles), tuple(knobs))
    count = len(found.machines) * found.a_machine
    if count > MOST_ANSWERS:
        raise UsageError(
            f"these knobs make {count:,} answers, and a page holds {MOST_ANSWERS:,}",
            "name fewer knobs, or fewer values",
        )
    return found


def _variable(table: KnobTable, word: str) -> str:
    knob = table.by_variable.get(word.upper()) or table.knobs.get(word.lower())
    if knob is None:
        near = nearest(word, [*table.by_variable])
        raise UsageError(f"there is no knob {word!r}", f"did you mean {near}?" if near else "see `launch.py knobs`")
    if knob.secret:
        raise UsageError(f"{knob.env} is a secret, and a page is for others to read", "leave it out")
    if knob.name in ("ctx", "spec"):
        raise UsageError(f"{knob.env} is on the page already", "leave it out")
    return knob.env


def _knob(table: KnobTable, variable: str, values: Sequence[str]) -> Knob:
    knob = table.by_variable[variable]
    return Knob(variable, knob.help, knob.default_says or knob.default or "none", (None, *values))
