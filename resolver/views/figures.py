"""Figures to look at: chosen by arm, metric, hardware, context, engine or knob, each with what it contradicts and what replaced it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resolver.diagnostics import UsageError, nearest
from resolver.expressions import Const
from resolver.model import Arm, Rules
from resolver.views.evidence import Evidence, Figure

UNKNOWN = "unknown"
HEAD = ("figure", "value", "metric", "what was running", "hardware", "engine", "date", "quality", "source", "note")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for; None asks for nothing. `context` is a tier or a number of tokens, `hardware` a part of a name or a capability."""

    arm: str | None = None
    metric: str | None = None
    hardware: str | None = None
    context: str | None = None
    engine: str | None = None
    knob: str | None = None


def links(rules: Rules) -> dict[str, list[str]]:
    """Figure id to what quotes it: `arm NAME`, `knob NAME`, `row SETTING (file:line:column)`, `guard ID`."""
    found: dict[str, list[str]] = {}
    quoting: list[tuple[str, tuple[str, ...]]] = [(f"arm {a.name}", a.figures) for a in rules.arms.values()]
    quoting += [(f"knob {k.env}", k.figures) for k in rules.knobs.values()]
    quoting += [(f"row {s.name} ({r.position})", r.figures) for s in rules.settings.values() for r in s.rows]
    quoting += [(f"guard {g.id}", g.figures) for g in rules.guards.values()]
    for who, ids in quoting:
        for id in ids:
            found.setdefault(id, []).append(who)
    return found


def select(rules: Rules, evidence: Evidence, wanted: Wanted) -> list[Figure]:
    """The figures that fit everything that is wanted, in the order of the files. Raises UsageError for a word that nothing has."""
    arm = _known(wanted.arm, rules.arms, "arm")
    metric = _known(wanted.metric, evidence.metrics, "metric")
    knob = None
    if wanted.knob is not None:
        knob = _known(wanted.knob.lower(), {**rules.knobs, **{k.env.lower(): k for k in rules.knobs.values()}}, "knob")
    tokens = _tokens(wanted.context)
    hardware = wanted.hardware.casefold() if wanted.hardware else None
    if hardware and not any(_on(evidence, f, hardware) for f in evidence.figures.values()):
        raise UsageError(f"no figure was measured on {wanted.hardware!r}", f"use one of {', '.join(evidence.hardware)}")

    def fits(f: Figure) -> bool:
        if arm is not None and not (f.id in rules.arms[arm].figures or of_arm(f, rules.arms[arm])):
            return False
        if metric is not None and f.metric != metric:
            return False
        if hardware and not _on(evidence, f, hardware):
            return False
        if tokens is not None and f.setup.get("context_tokens") != tokens:
            return False
        if wanted.context and tokens is None and f.setup.get("ctx") != wanted.context:
            return False
        if wanted.engine and not (f.engine or "").startswith(wanted.engine):
            return False
        if knob is not None:
            found = rules.knobs.get(knob) or next(k for k in rules.knobs.values() if k.env.lower() == knob)
            return f.id in found.figures or found.env in f.setup.get("knobs", {})
        return True

    return [f for f in evidence.figures.values() if fits(f)]


def of_arm(figure: Figure, arm: Arm) -> bool:
    """Whether the record itself says that this arm ran: its spec and ctx, and a backend or cache dtype that only this arm sets."""
    setup = figure.setup
    spec, _, rest = arm.name.partition("-")
    if setup.get("spec") != spec or setup.get("ctx") != rest.partition("-")[0] or "mode" in setup:
        return False
    stated = 0
    for part, setting in (("backend", "attention_backend"), ("kv_cache_dtype", "kv_cache_dtype")):
        if part in setup:
            value = arm.sets.get(setting)
            if not isinstance(value, Const) or value.value != setup[part]:
                return False
            stated += 1
    return stated > 0


def _known(word: str | None, known: Mapping[str, Any], kind: str) -> str | None:
    if word is None or word in known:
        return word
    near = nearest(word, list(known))
    raise UsageError(
        f"there is no {kind} {word!r}", f"did you mean {near}?" if near else f"{kind}s: {', '.join(known)}"
    )


def _tokens(context: str | None) -> int | None:
    if context is None or context in ("fast", "long", "huge"):
        return None
    digits, times = (context[:-1], 1000) if context[-1:] in ("k", "K") else (context, 1)
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise UsageError(
            f"{context!r} is no context", "write a tier (fast, long, huge), or tokens such as 25000 or 25k"
        )
    return int(digits) * times


def _on(evidence: Evidence, figure: Figure, wanted: str) -> bool:
    return wanted in (figure.hardware or "").casefold() or wanted == evidence.capability(figure)


def number(value: float | int | None) -> str:
    """A number as its source wrote it."""
    return "" if value is None else f"{value:,}" if isinstance(value, int) and abs(value) >= 10000 else f"{value}"


def value_text(figure: Figure) -> str:
    """Value or range, spread, total and unit."""
    text = number(figure.value) if figure.value is not None else f"{number(figure.low)} to {number(figure.high)}"
    if figure.n is not None and figure.metric in ("count", "verbatim_chars"):
        text += f" of {number(figure.n)}"
    if figure.spread:
        text += f" ({figure.spread})"
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


def quality_text(figure: Figure) -> str:
    """The quality; of a superseded figure by which, and whether its source says so."""
    if figure.superseded_by:
        return f"superseded by {figure.superseded_by} ({figure.superseded_basis or 'stated'})"
    return figure.quality


def row(figure: Figure, before: str = "") -> tuple[str, ...]:
    """One line of the table; what is not known is said to be unknown."""
    return (
        before + figure.id,
        value_text(figure),
        figure.metric,
        setup_text(figure),
        figure.hardware or UNKNOWN,
        figure.engine or UNKNOWN,
        figure.date or UNKNOWN,
        quality_text(figure),
        figure.source,
        figure.note or "",
    )


def rows(evidence: Evidence, figures: list[Figure]) -> Iterator[tuple[str, ...]]:
    """The table: below each figure stand those that contradict it and the one that replaced it, whether asked for or not."""
    shown: set[str] = set()
    for figure in figures:
        if figure.id in shown and shown.issuperset(evidence.contradicting(figure)):
            continue
        shown.add(figure.id)
        yield row(figure)
        for other in evidence.contradicting(figure):
            shown.add(other)
            yield row(evidence.figures[other], "  against ")
        if figure.superseded_by and figure.superseded_by not in evidence.contradicting(figure):
            shown.add(figure.superseded_by)
            yield row(evidence.figures[figure.superseded_by], "  now ")


def as_json(evidence: Evidence, quoted: Mapping[str, list[str]], figure: Figure) -> dict[str, Any]:
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
    out["position"] = str(figure.position)
    return out
