"""How is a figure shown? One line of a table, or plain data; what is not known is said to be unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from resolver.views.evidence import Evidence, Figure
from resolver.views.figures_stale import Staleness

UNKNOWN = "unknown"
HEAD = ("figure", "value", "metric", "what was running", "hardware", "engine", "date", "quality", "source", "note")


def number(value: float | int | None) -> str:
    """A number as its source wrote it."""
    return "" if value is None else f"{value:,}" if isinstance(value, int) and abs(value) >= 10000 else f"{value}"


def value_text(figure: Figure) -> str:
    """Value or range, spread, total and unit."""
    text = number(figure.value) if figure.value is not None else f"{number(figure.low)} to {number(figure.high)}"
    if figure.n is not None and figure.metric in ("count", "verbatim_chars"):
        text += f" of {number(figure.n)}"
    ends = (
        f"{number(figure.low)} to {number(figure.high)}" if figure.value is not None and figure.low is not None else ""
    )
    if ends or figure.spread:
        text += f" ({', '.join(filter(None, (ends, figure.spread)))})"
    return f"{text} {figure.unit}"


def setup_text(figure: Figure) -> str:
    """What was running, in a few words."""
    parts = []
    for key, value in figure.setup.items():
        if key == "knobs":
            parts += [f"{k}={v}" for k, v in value.items()]
        elif key in ("spec", "ctx", "backend", "kv_cache_dtype", "mode", "task", "cudagraph_mode"):
            parts.append(str(value))
        else:
            parts.append(f"{key.replace('_', ' ')} {value}")
    if figure.platform:
        parts.append(figure.platform)
    if figure.power_cap_w:
        parts.append(f"{figure.power_cap_w} W")
    return ", ".join(parts) or UNKNOWN


def quality_text(figure: Figure, stale: Staleness | None = None) -> str:
    """The quality; of a superseded figure by which, and whether its source says so; of a stale one why it is stale."""
    if figure.superseded_by:
        return f"superseded by {figure.superseded_by} ({figure.superseded_basis or 'stated'})"
    return f"{figure.quality}, {stale.text}" if stale is not None and stale.text else figure.quality


def row(figure: Figure, before: str = "", stale: Staleness | None = None) -> tuple[str, ...]:
    """One line of the table; what is not known is said to be unknown."""
    return (
        before + figure.id,
        value_text(figure),
        figure.metric,
        setup_text(figure),
        figure.hardware or UNKNOWN,
        figure.engine or UNKNOWN,
        figure.date or UNKNOWN,
        quality_text(figure, stale),
        figure.source,
        figure.note or "",
    )


def rows(
    evidence: Evidence, figures: list[Figure], judge: Callable[[Figure], Staleness] | None = None
) -> Iterator[tuple[str, ...]]:
    """The table: below each figure stand those that contradict it and the one that replaced it, whether asked for or not.

    `judge` says whether a figure is stale.
    """

    def line(figure: Figure, before: str = "") -> tuple[str, ...]:
        return row(figure, before, judge(figure) if judge else None)

    shown: set[str] = set()
    for figure in figures:
        if figure.id in shown and shown.issuperset(evidence.contradicting(figure)):
            continue
        shown.add(figure.id)
        yield line(figure)
        for other in evidence.contradicting(figure):
            shown.add(other)
            yield line(evidence.figures[other], "  against ")
        if figure.superseded_by and figure.superseded_by not in evidence.contradicting(figure):
            shown.add(figure.superseded_by)
            yield line(evidence.figures[figure.superseded_by], "  now ")


def as_json(
    evidence: Evidence, quoted: Mapping[str, list[str]], figure: Figure, stale: Staleness | None = None
) -> dict[str, Any]:
    """Plain data; hardware, engine and date are there always, null when unknown."""
    parts = ("id", "metric", "value", "low", "high", "unit", "n", "spread", "hardware", "platform", "engine", "date")
    more = ("power_cap_w", "note", "quality", "superseded_by", "superseded_basis", "compares_with", "issue", "source")
    always = ("id", "metric", "value", "unit", "hardware", "engine", "date", "quality", "source")
    out = {p: getattr(figure, p) for p in (*parts, *more) if p in always or getattr(figure, p) is not None}
    out["setup"] = dict(figure.setup)
    out["capability"] = evidence.capability(figure)
    out["contradicts"] = [{"id": o, "value": value_text(evidence.figures[o])} for o in evidence.contradicting(figure)]
    out["also_in"] = list(figure.also_in)
    out["quoted_by"] = quoted.get(figure.id, [])
    out["arm"] = figure.arm
    if figure.provenance:
        out["provenance"] = dict(figure.provenance)
    if stale is not None:
        out["stale"] = stale.as_json()
    out["position"] = str(figure.position)
    return out
