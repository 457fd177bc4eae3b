"""Read one subject file of rules/: its setting tables, its guards, and the numbered rules that code implements."""

from __future__ import annotations

from typing import Any

from resolver.conditions import ALWAYS, Path
from resolver.load.collect import Collector, text_of, words
from resolver.load.examples import read_examples
from resolver.model import Guard, GuardSeverity, Implementation, Row, Setting
from resolver.yaml12 import Document

_SEVERITIES: tuple[GuardSeverity, ...] = ("refuse", "warn", "note")


def read_settings(document: Document, collect: Collector) -> list[Setting]:
    """Every setting table of the file."""
    return [_setting(document, name, data, collect) for name, data in (document.data.get("settings") or {}).items()]


def _setting(document: Document, name: str, data: dict[str, Any], collect: Collector) -> Setting:
    path: Path = ("settings", name)
    rows = []
    last = len(data["first"]) - 1
    for i, item in enumerate(data["first"]):
        where = (*path, "first", i)
        if "when" in item:
            when = collect.condition(document, item["when"], (*where, "when"))
        else:
            when = ALWAYS
            if i != last:
                collect.fail(
                    "setting",
                    f"{name}: the rows after this one can never be reached",
                    document.position(where),
                    "move it to the end, or give it a `when`",
                )
        rows.append(
            Row(
                when=when or ALWAYS,
                value=collect.expression(document, item["value"], (*where, "value")),
                position=document.position(where),
                because=item.get("because"),
                figures=words(item.get("figures")),
                origins=words(item.get("origin")),
            )
        )
    return Setting(name, tuple(rows), document.position(path, key=True), data.get("help"), words(data.get("origin")))


def read_guards(document: Document, collect: Collector) -> list[Guard]:
    """Every guard of the file."""
    return [
        g for name, data in (document.data.get("guards") or {}).items() if (g := _guard(document, name, data, collect))
    ]


def _guard(document: Document, name: str, data: dict[str, Any], collect: Collector) -> Guard | None:
    path: Path = ("guards", name)
    position = document.position(path, key=True)
    severities = [s for s in _SEVERITIES if s in data]
    if len(severities) != 1:
        collect.fail("guard", f"{name}: needs exactly one of refuse, warn, note", position)
        return None
    severity = severities[0]
    when = collect.condition(document, data["when"], (*path, "when"))
    if severity == "refuse" and not ("fix" in data or "instead" in data):
        collect.fail("guard", f"{name}: a refusal needs a way out", position, "add `fix:` or `instead:`")
    examples = data.get("examples", {})
    for kind in ("fires", "silent"):
        if not examples.get(kind):
            collect.fail("guard", f"{name}: missing example: {kind}", position, f"add `examples: {{{kind}: [...]}}`")
    instead = tuple(
        {k: None if v == "unset" else text_of(v) for k, v in item.items()} for item in data.get("instead", ())
    )
    return Guard(
        id=name,
        severity=severity,
        reason=data[severity],
        when=when or ALWAYS,
        position=position,
        fix=data.get("fix"),
        instead=instead,
        origins=words(data.get("origin")),
        figures=words(data.get("figures")),
        since=data.get("since"),
        until=data.get("until"),
        fires=read_examples(document, examples.get("fires"), (*path, "examples", "fires")),
        silent=read_examples(document, examples.get("silent"), (*path, "examples", "silent")),
    )


def read_implementations(document: Document) -> list[Implementation]:
    """The numbered rules that code implements (`code`) and those that were dropped (`dropped`)."""
    out = []
    for kind in ("code", "dropped"):
        for i, item in enumerate(document.data.get(kind) or ()):
            position = document.position((kind, i))
            out += [
                Implementation(origin, item["says"], position, item.get("where")) for origin in words(item["origin"])
            ]
    return out
