"""Diagnostics for people: what, why, on what it rests, and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.diagnostics import Diagnostic
from resolver.views.page import Page

VERBOSE = 2
WORDS = {"refuse": "refused", "error": "error", "warn": "warning", "note": "note"}


def show_diagnostics(page: Page, found: Sequence[Diagnostic], level: int) -> None:
    """All of them, refusals first; a refusal with its knobs, rule and fix, the others in short unless `level` is VERBOSE."""
    refusals = [d for d in found if d.severity in ("refuse", "error")]
    others = sorted((d for d in found if d not in refusals), key=lambda d: d.severity != "warn")
    if refusals:
        count = "1 reason" if len(refusals) == 1 else f"{len(refusals)} reasons"
        page.line(f"refused: nothing is launched, for {count}", "refuse")
    for i, d in enumerate(refusals, 1):
        page.line(f"{i}. {d.message}", "bold", indent=1)
        _parts(page, d, level, whole=True)
    for d in others:
        page.line(f"{WORDS[d.severity]}: {d.message}", d.severity)
        _parts(page, d, level, whole=level == VERBOSE)


def _parts(page: Page, d: Diagnostic, level: int, whole: bool) -> None:
    rows: list[tuple[str, str]] = []
    if d.fix:
        rows.append(("fix", d.fix))
    if whole and d.causes:
        rows.append(("by", ", ".join(str(c) for c in d.causes)))
    if whole and d.unknown:
        rows.append(("rests on unknown", ", ".join(d.unknown)))
    if whole and (d.position or d.origins):
        rule = d.rule + (f", {d.position}" if d.position else "") + (f" ({', '.join(d.origins)})" if d.origins else "")
        rows.append(("rule", rule))
    if level == VERBOSE:
        rows += [("detail", text) for text in d.details]
    if rows and (whole or d.severity != "note"):
        page.pairs(rows, indent=4)
