"""`launch.py figures`: measurements, each with value, unit, hardware, engine, date, quality and source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from resolver.cli.start import OK, put, say
from resolver.compile import open_resolver
from resolver.views import figures as view
from resolver.views.evidence import load_evidence
from resolver.views.page import stdout_page

if TYPE_CHECKING:
    from resolver.cli.options import Line


def run(line: Line) -> int:
    """Print what fits the options. Raises UsageError for a word that nothing has, RulesError for broken data."""
    resolver = open_resolver()
    evidence = load_evidence(resolver.root)
    wanted = view.Wanted(
        arm=line.get("--arm"),
        metric=line.get("--metric"),
        hardware=line.get("--hardware"),
        context=line.get("--context"),
        engine=line.get("--engine"),
        knob=line.get("--knob"),
    )
    found = view.select(resolver.rules, evidence, wanted)
    if line.given("--json"):
        quoted = view.links(resolver.rules)
        put(json.dumps([view.as_json(evidence, quoted, f) for f in found], indent=1, ensure_ascii=False) + "\n")
        return OK
    if not found:
        say("no figure fits all of that; leave one of the options out\n")
        return OK
    page = stdout_page()
    page.table(view.HEAD, list(view.rows(evidence, found)))
    if not line.given("--quiet"):
        page.line()
        page.line(f"{len(found)} of {len(evidence.figures)} figures; what is not stated is unknown", "dim")
    return OK
