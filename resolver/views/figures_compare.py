"""In what do two figures differ? Every fact that one has and the other has not, or has otherwise; then the ratio of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resolver.diagnostics import UsageError, nearest
from resolver.shown import clean
from resolver.views.evidence import Evidence, Figure
from resolver.views.figures_text import UNKNOWN, number, value_text

PLAIN = ("metric", "unit", "arm", "hardware", "platform", "engine", "date", "power_cap_w", "quality", "source", "n")
NOT_FACTS = ("argv", "environment", "facts")
"""Parts of a provenance that are compared word by word, not as one."""
EXPECTED = ("hardware", "engine", "date", "power_cap_w", "driver", "clocks", "configuration", "method")
"""Facts that a figure should have: where neither has one, that is said."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two figures: `differ` has (fact, of the first, of the second), None for unknown; `ratio` is second over first.

    `neither` are facts that neither has; `remarks` say why the values may not compare.
    """

    first: Figure
    second: Figure
    differ: tuple[tuple[str, str | None, str | None], ...]
    same: tuple[str, ...]
    neither: tuple[str, ...]
    ratio: float | None
    remarks: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "figures": [self.first.id, self.second.id],
            "values": [value_text(self.first), value_text(self.second)],
            "ratio": self.ratio,
            "differ": [{"fact": fact, "values": [a, b]} for fact, a, b in self.differ],
            "same": list(self.same),
            "unknown_of_both": list(self.neither),
            "remarks": list(self.remarks),
        }


def find(evidence: Evidence, name: str) -> Figure:
    """The figure with this id, or the only one whose id begins so. Raises UsageError with the nearest."""
    if name in evidence.figures:
        return evidence.figures[name]
    begun = [id for id in evidence.figures if id.startswith(name)]
    if len(begun) == 1:
        return evidence.figures[begun[0]]
    if begun:
        shown = ", ".join(begun[:6]) + (" ..." if len(begun) > 6 else "")
        raise UsageError(f"{len(begun)} figures begin with {name!r}", f"write one of {shown}")
    near = nearest(name, list(evidence.figures))
    raise UsageError(
        f"there is no figure {clean(name)[:60]!r}", f"did you mean {near}?" if near else "see `launch.py figures`"
    )


def compare(evidence: Evidence, first: Figure, second: Figure) -> Comparison:
    """Every fact of both."""
    one, two = facts_of(evidence, first), facts_of(evidence, second)
    names = list(dict.fromkeys([*one, *two]))
    differ = [(name, one.get(name), two.get(name)) for name in names if one.get(name) != two.get(name)]
    differ += _words(first, second)
    same = tuple(name for name in names if one.get(name) == two.get(name))
    expected = map(_label, EXPECTED)
    neither = tuple(name for name in expected if not any(n == name or n.startswith(f"{name} ") for n in names))
    return Comparison(
        first, second, tuple(differ), same, neither, _ratio(first, second), tuple(_remarks(evidence, first, second))
    )


def facts_of(evidence: Evidence, figure: Figure) -> dict[str, str]:
    """The facts behind a figure, by name, as text; what is unknown is left out."""
    found: dict[str, Any] = {name: getattr(figure, name) for name in PLAIN}
    found["capability"] = evidence.capability(figure)
    for source in (figure.setup, figure.provenance):
        for name, value in source.items():
            if name in NOT_FACTS:
                continue
            if isinstance(value, Mapping):
                found |= {part if name in ("knobs", "conditions") else f"{name} {part}": v for part, v in value.items()}
            else:
                found[name] = value
    facts = figure.provenance.get("facts", {})
    found |= {name: facts[name] for name in facts if not name.startswith("gpu.")}
    return {_label(name): _text(value) for name, value in found.items() if value is not None}


def _label(name: str) -> str:
    """A fact as people read it; a knob keeps its own name."""
    if name == "power_cap_w":
        return "power cap in W"
    return name.replace("_", " ") if name.islower() else name


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _words(first: Figure, second: Figure) -> Iterator[tuple[str, str | None, str | None]]:
    """Words and variables of the two launches that differ, where both are known."""
    one, two = first.provenance.get("argv"), second.provenance.get("argv")
    if one and two:
        left, right = _flags(one), _flags(two)
        for flag in dict.fromkeys([*left, *right]):
            if left.get(flag) != right.get(flag):
                yield flag, left.get(flag, "absent"), right.get(flag, "absent")
    if first.provenance.get("environment") and second.provenance.get("environment"):
        left, right = first.provenance["environment"], second.provenance["environment"]
        for name in dict.fromkeys([*left, *right]):
            if left.get(name) != right.get(name):
                yield name, left.get(name, "absent"), right.get(name, "absent")


def _flags(argv: list[str]) -> dict[str, str]:
    """Flag to what follows it, up to the next flag."""
    found: dict[str, list[str]] = {}
    at = "words"
    for word in argv:
        if word.startswith("--"):
            at, _, value = word.partition("=")
            found.setdefault(at, []).extend([value] if value else [])
        else:
            found.setdefault(at, []).append(word)
    return {flag: " ".join(values) or "set" for flag, values in found.items()}


def _ratio(first: Figure, second: Figure) -> float | None:
    """Second over first, where both are values of the same metric and unit."""
    if (first.metric, first.unit) != (second.metric, second.unit) or not first.value or second.value is None:
        return None
    return second.value / first.value


def _remarks(evidence: Evidence, first: Figure, second: Figure) -> Iterator[str]:
    if first.metric != second.metric:
        yield f"{first.metric} and {second.metric} are different metrics: their values do not compare"
    elif first.unit != second.unit:
        yield f"the values are in {first.unit} and {second.unit}: they do not compare as they stand"
    methods = [(f.provenance.get("method"), f.provenance.get("method_version")) for f in (first, second)]
    if all(m for m, _ in methods) and methods[0] != methods[1]:
        yield "they were measured by different methods or versions of one: their values may not compare"
    if second.id in evidence.contradicting(first):
        yield "the evidence says that the two contradict each other"
    for old, new in ((first, second), (second, first)):
        if old.superseded_by == new.id:
            yield f"{new.id} has replaced {old.id}"


def lines(comparison: Comparison) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The table of what differs, and the sentences below it."""
    c = comparison
    table = [(fact, UNKNOWN if a is None else a, UNKNOWN if b is None else b) for fact, a, b in c.differ]
    below = []
    if c.ratio is not None:
        below.append(f"{c.second.id} is {c.ratio:.3g} times {c.first.id}")
    below += c.remarks
    if c.same:
        below.append(f"the same: {', '.join(c.same)}")
    if c.neither:
        below.append(f"unknown of both: {', '.join(c.neither)}")
    return table, below
