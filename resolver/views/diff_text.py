"""The differences of two launches for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resolver.views.page import Page

NOTHING = "-"
SAYS = {"recompile": "compiles again at the next start", "kv_pool": "KV pool of another size"}
ELSE = {"recompile": "compiled graphs are used again", "kv_pool": "the same KV pool"}


def show_diff(data: Mapping[str, Any], page: Page, verbose: bool = False) -> None:
    """Both sides, then what differs; nothing but one line when they are the same."""
    page.pairs([(which.upper(), _head(data[which])) for which in ("a", "b")])
    if data["same"]:
        page.line("the same launch", "good")
    for title, part, key in (
        ("knobs", "knobs", "name"),
        ("argv", "argv", "flag"),
        ("environment", "environment", "name"),
    ):
        _changes(title, [(d[key], d["a"], d["b"], "") for d in data[part]], page)
    settings = [s for s in data["settings"] if s["by_a"] or s["by_b"] or verbose]
    rows = [(s["name"], s["a"], s["b"], _rows(s["by_a"], s["by_b"])) for s in settings]
    _changes("settings, and the rows that give them", rows, page)
    if data["messages"]:
        page.line()
        page.line("said on one side only", "bold")
        for m in data["messages"]:
            page.line(f"{m['side'].upper()} {m['severity']}: {m['message']} ({m['rule']})", m["severity"], indent=2)
    if data["effects"]:
        page.line()
    for effect in data["effects"]:
        if not effect["known"]:
            page.line(f"{SAYS[effect['kind']]}: not known for this engine")
        elif effect["because"]:
            why = "; ".join(f"{w['name']} ({w['because']})" for w in effect["because"])
            page.line(f"{SAYS[effect['kind']]}: {why}")
        elif not data["same"]:
            page.line(f"{ELSE[effect['kind']]}, as far as the rules know")


def _changes(title: str, rows: Sequence[tuple[str, Any, Any, str]], page: Page) -> None:
    """One change a line; a long one on two."""
    if not rows:
        return
    page.line()
    page.line(title, "bold")
    pairs: list[tuple[str, str]] = []
    for name, a, b, more in rows:
        one, other = _cell(a), _cell(b)
        if len(one) + len(other) > 60:
            pairs += [(name, f"A  {one}"), ("", f"B  {other}{more}")]
        else:
            pairs.append((name, f"{one} -> {other}{more}"))
    page.pairs(pairs, indent=2)


def _rows(a: str | None, b: str | None) -> str:
    if not a and not b:
        return ""
    return f"  ({a})" if a == b else f"  ({a or NOTHING} -> {b or NOTHING})"


def _head(side: Mapping[str, Any]) -> str:
    state = f"arm {side['arm']}" if side["ok"] else "refused"
    return f"{side['label']}: {state}, on {side['machine']}, vLLM {side['engine']}"


def _cell(value: Any) -> str:
    return NOTHING if value is None else str(value) if value != "" else '""'
