"""What could be changed about a refusal? The knobs and engine flags behind it, and the values worth trying."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resolver import conditions, expressions
from resolver.conditions import All, Condition, Leaf, Not, Ref
from resolver.interpret import leaf_holds
from resolver.knobs import OFF, ON, UNSET
from resolver.model import Knob, Rules

if TYPE_CHECKING:
    from resolver.resolution import Resolution

ARM_KNOBS = ("backend", "pth_fa", "fa2_fp8kv", "ctx", "spec")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why nothing may be launched: `key` tells it from others; `names` are what it reads; `ways` the guard's own.

    `distance`: how many conditions must change before it goes away, where that can be told.
    """

    key: str
    names: tuple[str, ...]
    flags: bool = False
    ways: tuple[Mapping[str, str | None], ...] = ()
    distance: int = 1


def refusals(resolution: Resolution) -> list[Refusal]:
    """All of them, those with the fewest ways out first. Problems of names (profile, knob) are not among them."""
    out = [Refusal(f"bad {n}", (n,)) for n, reading in resolution.readings.items() if reading.problem]
    if resolution.passthrough.problem:
        out.append(Refusal(f"flags {resolution.passthrough.problem}", (), flags=True))
    if resolution.setting("arm") is None:
        out.append(Refusal("no arm", ("arm",), distance=_nearest_arm(resolution)))
    for guard in resolution.fired:
        if guard.severity == "refuse":
            more = ("arm",) if guard.arm else ()
            out.append(Refusal(guard.id, (*conditions.names(guard.when), *more), ways=guard.instead))
    return out or list(_slow(resolution))


def _slow(resolution: Resolution) -> Iterator[Refusal]:
    """The refusals that only the diagnostics tell: what nothing reads, and backends that do not serve the cache."""
    from resolver.diagnose import diagnose

    if resolution.request.problems:
        return
    by_variable = resolution.resolver.table.by_variable
    for d in diagnose(resolution, refusals_only=True):
        if d.severity in ("refuse", "error"):
            named = tuple(by_variable[c.knob].name for c in d.causes if c.knob in by_variable)
            yield Refusal(f"{d.rule} {d.message}", (*named, "arm", "extra.flags"))


FAR = 1000


def _nearest_arm(resolution: Resolution) -> int:
    """How many knobs, at least, stand between the launch and an arm of this machine."""
    found = FAR
    for arm in resolution.rules.arms.values():
        ways = [way for way in (arm.chosen_by, arm.eligible) if way is not None]
        choice = min((_steps(resolution, way, True) for way in ways), default=0)
        found = min(found, _steps(resolution, arm.when, True) + choice)
    return found


def _steps(resolution: Resolution, condition: Condition, wanted: bool) -> int:
    """How many leaves must change before the condition is `wanted`; a fact of the machine never does."""
    if isinstance(condition, Leaf):
        if leaf_holds(resolution, condition) == wanted:
            return 0
        meaning = resolution.resolver.scope.meaning(condition.name)
        return FAR if meaning is not None and meaning.kind in ("fact", "choices") else 1
    if isinstance(condition, Not):
        return _steps(resolution, condition.inner, not wanted)
    parts = [_steps(resolution, part, wanted) for part in condition.parts]
    every = isinstance(condition, All) == wanted
    return sum(parts) if every else min(parts, default=FAR)


def behind(resolution: Resolution, names: Iterable[str]) -> tuple[list[str], bool]:
    """The knobs behind the names, nearest first, through the rows that were tried; and whether engine flags are among it."""
    knobs: dict[str, None] = {}
    seen: set[str] = set()
    flags = False
    queue = list(names)
    for name in queue:
        if name in seen:
            continue
        seen.add(name)
        meaning = resolution.resolver.scope.meaning(name)
        if meaning is None:
            continue
        if meaning.kind.startswith("extra"):
            flags = True
        elif meaning.base in resolution.rules.knobs:
            knobs[meaning.base] = None
        elif meaning.base in resolution.rules.settings:
            rows = resolution.rules.settings[meaning.base].rows
            won = resolution.state.rows[resolution.resolver.number[meaning.base]]
            for row in rows[: won + 1] if won >= 0 else rows:
                queue += conditions.names(row.when)
            if won >= 0:
                queue += expressions.names(rows[won].value)
    return list(knobs), flags


# values


_KNOWN: dict[int, tuple[Rules, dict[str, tuple[str, ...]]]] = {}


def literals(rules: Rules) -> dict[str, tuple[str, ...]]:
    """The texts that the rules speak of, for each knob: what it is compared with, and both sides of each bound."""
    if id(rules) not in _KNOWN:
        found: dict[str, dict[str, None]] = {name: {} for name in rules.knobs}
        homes: dict[str, list[str]] = {name: [name] for name in rules.knobs}
        for knob in rules.knobs.values():
            for setting in knob.sets:
                homes.setdefault(setting, []).append(knob.name)
        whens = [row.when for s in rules.settings.values() for row in s.rows] + [g.when for g in rules.guards.values()]
        for when in whens:
            for leaf in conditions.leaves(when):
                for home in homes.get(leaf.name.partition(".")[0], ()):
                    found[home] |= dict.fromkeys(_texts(leaf.op, leaf.operand))
        for guard in rules.guards.values():
            for way in guard.instead:
                for name, text in way.items():
                    if text is not None:
                        found[name][text] = None
        _KNOWN[id(rules)] = (rules, {name: tuple(texts) for name, texts in found.items()})
    return _KNOWN[id(rules)][1]


def _texts(op: str, operand: Any) -> Iterator[str]:
    if op == "is":
        yield from (str(item) for item in operand if not isinstance(item, bool))
    elif op in ("<", "<=", ">", ">=") and type(operand) is int and operand:
        # a bound of 0 only asks whether there is a number at all
        yield from (str(n) for n in (operand, operand + 1, operand - 1) if n >= 0)
    elif isinstance(operand, Ref):
        return


def values(rules: Rules, knob: Knob, text: str | None, bad: bool = False) -> list[str]:
    """Texts worth giving to the knob instead of `text`, the nearest first; unsetting it is not among them.

    `bad`: the text cannot be used, so only what it was perhaps meant to be comes to mind.
    """
    if knob.type in ("secret", "path", "words", "json", "ignored", "host"):
        return []
    if knob.allowed:
        found = list(knob.allowed)
    elif knob.type in ("switch", "zero_one"):
        found = ["1", "0"]
    else:
        found = [t for t in literals(rules)[knob.name] if t]
    corrected = [] if text is None else _corrected(knob, text)
    if bad and not knob.allowed:
        found = []
    return [t for t in dict.fromkeys([*corrected, *found]) if t != text]


def spelling(knob: Knob, old: str, new: str) -> bool:
    """Whether the new text is the old one, spelt right."""
    return bool(knob.allowed or knob.type in ("switch", "zero_one")) and new in _corrected(knob, old)[:1]


def _corrected(knob: Knob, text: str) -> list[str]:
    """What a text that cannot be used was perhaps meant to be."""
    import difflib

    if knob.allowed:
        folded = {a.casefold().replace("_", ""): a for a in knob.allowed}
        near = difflib.get_close_matches(text.casefold().replace("_", "").strip(), list(folded), n=2, cutoff=0.5)
        return [folded[n] for n in near]
    word = text.strip().lower()
    if knob.type in ("switch", "zero_one"):
        return ["1"] if word in ON else ["0"] if word in OFF else []
    if knob.type != "int":
        return []
    digits = re.sub(r"[\s,_]", "", word)
    if not re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", digits):
        return []
    number = int(digits.partition(".")[0])
    number = (
        max(number, knob.minimum or 0) if knob.maximum is None else min(max(number, knob.minimum or 0), knob.maximum)
    )
    return [str(number)]


def same(resolution: Resolution, knob: Knob, text: str) -> bool:
    """Whether the text says what the knob says already."""
    reading = resolution.resolver.table.read(knob.name, text)
    if reading.problem:
        return True
    given = resolution.readings.get(knob.name)
    if given is None or given.state == UNSET:
        return False
    return (reading.state, reading.value) == (given.state, given.value)
