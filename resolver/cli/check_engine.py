"""`launch.py check --engine VERSION`: what breaks or changes when the engine moves there from the pinned version."""

from __future__ import annotations

from typing import Any

from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put
from resolver.engine import DEFAULT_VERSION
from resolver.resolve import Resolver
from resolver.views.page import Page, dump, stdout_page
from resolver.views.versions import Change, changes


def run(line: Line, resolver: Resolver) -> int:
    """Print the consequences, what breaks first; 1 when anything breaks. Raises UsageError for an unknown engine."""
    new = line.get("--engine") or DEFAULT_VERSION
    found = changes(resolver, DEFAULT_VERSION, new)
    if line.given("--json"):
        put(dump({"schema": 1, "from": DEFAULT_VERSION, "to": new, "changes": [as_json(c) for c in found]}))
    else:
        _show(found, new, stdout_page(), line.given("--quiet"))
    return REFUSED if any(c.breaks for c in found) else OK


def as_json(change: Change) -> dict[str, Any]:
    """Plain data; an absent position is left out."""
    out: dict[str, Any] = {"breaks": change.breaks, "what": change.what, "why": change.why}
    return out | {"position": str(change.position)} if change.position else out


def _show(found: list[Change], new: str, page: Page, quiet: bool) -> None:
    breaking = [c for c in found if c.breaks]
    for change in breaking if quiet else found:
        where = f"  ({change.position})" if change.position else ""
        kind, style = ("breaks", "error") if change.breaks else ("changes", "")
        page.line(f"{kind}: {change.what}: {change.why}{where}", style)
    page.line(f"from vLLM {DEFAULT_VERSION} to {new}: {len(breaking)} break, {len(found) - len(breaking)} change")
