"""Figures to look at: chosen by arm, metric, hardware, context, engine or knob, each with what it contradicts and what replaced it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from resolver.diagnostics import UsageError, nearest
from resolver.expressions import Const
from resolver.model import Arm, Rules
from resolver.views.evidence import Evidence, Figure
from resolver.views.figures_text import HEAD, as_json, number, quality_text, row, rows, setup_text, value_text

__all__ = [
    "HEAD",
    "Wanted",
    "as_json",
    "links",
    "number",
    "of_arm",
    "quality_text",
    "row",
    "rows",
    "select",
    "setup_text",
    "value_text",
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for; None asks for nothing.

    `context` is a tier or a number of tokens, `hardware` a part of a name or a capability, `text` words that all must occur.
    """

    arm: str | None = None
    metric: str | None = None
    hardware: str | None = None
    context: str | None = None
    engine: str | None = None
    knob: str | None = None
    text: str | None = None


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
    words = (wanted.text or "").casefold().split()
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
        if tokens is not None and not _at(f.setup.get("context_tokens"), tokens, wanted.context or ""):
            return False
        if wanted.context and tokens is None and f.setup.get("ctx") != wanted.context:
            return False
        if wanted.engine and not (f.engine or "").startswith(wanted.engine):
            return False
        if knob is not None:
            found = rules.knobs.get(knob) or next(k for k in rules.knobs.values() if k.env.lower() == knob)
            if f.id not in found.figures and found.env not in f.setup.get("knobs", {}):
                return False
        return _has(f, words)

    return [f for f in evidence.figures.values() if fits(f)]


def of_arm(figure: Figure, arm: Arm) -> bool:
    """Whether the record itself says that this arm ran: by name, or by spec, ctx, and a backend or cache dtype that only it sets."""
    if figure.arm is not None:
        return figure.arm == arm.name
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


def _at(context: Any, tokens: int, asked: str) -> bool:
    """Whether a figure's context is the one asked for; `112k` means every context of 112 thousand and some tokens."""
    if not isinstance(context, int):
        return False
    return context // 1000 == tokens // 1000 if asked[-1:] in ("k", "K") else context == tokens


def _has(figure: Figure, words: list[str]) -> bool:
    """Whether every word occurs in what is shown of the figure, or in the name of its arm."""
    if not words:
        return True
    text = " ".join((*row(figure), figure.arm or "")).casefold()
    return all(word in text for word in words)
