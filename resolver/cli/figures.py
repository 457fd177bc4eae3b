"""`launch.py figures`: measurements, each with value, unit, hardware, engine, date, quality and source; two compared; or a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.cli.check_questions import BETWEEN
from resolver.cli.start import OK, put, say
from resolver.compile import open_resolver
from resolver.diagnostics import UsageError
from resolver.views import figures as view
from resolver.views import figures_ledger
from resolver.views.evidence import Evidence, Figure, load_evidence
from resolver.views.figures_stale import Now, now
from resolver.views.page import stdout_page

if TYPE_CHECKING:
    from resolver.cli.options import Line
    from resolver.measure.ledger import Ledger
    from resolver.resolve import Resolver

SHOWN = 20
"""Figures that are listed without --all."""
FILTERS = ("--arm", "--metric", "--hardware", "--context", "--engine", "--knob", "--find", "--stale")


def prepare(words: Sequence[str]) -> list[str]:
    """The words of a command line, in which the two figures after --compare stand as one value. Raises UsageError."""
    out = list(words)
    if "--compare" in out:
        at = out.index("--compare") + 1
        two = out[at : at + 2]
        if len(two) < 2 or any(word.startswith("-") for word in two):
            raise UsageError(
                "--compare needs two figures", "write --compare A B, with ids that `launch.py figures` shows"
            )
        out[at : at + 2] = [BETWEEN.join(two)]
    return out


def run(line: Line) -> int:
    """Print what fits the options. Raises UsageError for a word that nothing has, RulesError for broken data."""
    if line.given("--plot"):
        from resolver.views import figures_plot

        figures_plot.check(Path(line.get("--plot") or ""))
    resolver = open_resolver()
    ledger = ledger_of(line)
    evidence = load_evidence(resolver.root)
    if ledger.records:
        evidence = figures_ledger.with_ledger(evidence, ledger)
    if line.given("--compare"):
        return compared(line, evidence)
    today = now(resolver, os.environ)
    found = selected(line, resolver, evidence, today)
    if line.given("--into"):
        return written(line, resolver, ledger, found)
    if line.given("--plot"):
        return drawn(line, resolver, evidence, found)
    if line.given("--json"):
        quoted = view.links(resolver.rules)
        data = [view.as_json(evidence, quoted, f, today.judge(f)) for f in found]
        put(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
        return OK
    if not found:
        say("no figure fits all of that; leave one of the options out\n")
        return OK
    shown = found if line.given("--all") else found[:SHOWN]
    page = stdout_page()
    page.table(view.HEAD, list(view.rows(evidence, shown, today.judge)))
    if not line.given("--quiet"):
        page.line()
        if len(shown) < len(found):
            narrow = [name for name in FILTERS if not line.given(name)]
            page.line(
                f"the first {len(shown)} of {len(found)} figures that fit; see all with --all, or fewer with "
                f"{', '.join(narrow)}",
                "dim",
            )
        else:
            page.line(f"{len(found)} of {len(evidence.figures)} figures; what is not stated is unknown", "dim")
    return OK


def ledger_of(line: Line) -> Ledger:
    """The ledger that is named, else that of the state folder; empty where there is none. Its damaged lines are told of.

    Raises:
        UsageError: the ledger that is named is not there.
        LaunchError: a ledger cannot be read.
    """
    from resolver.measure import ledger

    named = line.get("--ledger")
    path = Path(named) if named else ledger.default_path(os.environ)
    if named and not path.is_file():
        raise UsageError(f"there is no ledger {named}", "name a file that `launch.py measure --ledger` has written")
    found = ledger.read(path)
    for complaint in found.complaints():
        say(f"note: {complaint}\n")
    return found


def selected(line: Line, resolver: Resolver, evidence: Evidence, today: Now) -> list[Figure]:
    """What fits the options: figures of arms by name before the others. Raises UsageError."""
    wanted = view.Wanted(
        arm=line.get("--arm"),
        metric=line.get("--metric"),
        hardware=line.get("--hardware"),
        context=line.get("--context"),
        engine=line.get("--engine"),
        knob=line.get("--knob"),
        text=line.get("--find"),
    )
    found = view.select(resolver.rules, evidence, wanted)
    if line.given("--stale"):
        found = [f for f in found if today.judge(f).stale]
    return sorted(found, key=lambda f: f.arm is None)


def compared(line: Line, evidence: Evidence) -> int:
    """Print what differs between two figures."""
    from resolver.views import figures_compare

    two = [figures_compare.find(evidence, name) for name in (line.get("--compare") or "").split(BETWEEN)]
    found = figures_compare.compare(evidence, *two)
    if line.given("--json"):
        put(json.dumps(found.as_json(), indent=1, ensure_ascii=False) + "\n")
        return OK
    page = stdout_page()
    table, below = figures_compare.lines(found)
    values = ("value", *(view.value_text(f) for f in two))
    page.table(("", *(f.id for f in two)), [values, *table])
    page.line()
    for text in below:
        page.line(text)
    return OK


def written(line: Line, resolver: Resolver, ledger: Ledger, found: list[Figure]) -> int:
    """Write what fits of the ledger beside an arm; the server was compared with its launch when it was measured.

    Raises:
        UsageError: nothing of the ledger fits.
        LaunchError: a record is no evidence of the arm, or the file cannot be written.
    """
    from resolver.measure.into import write

    arm = line.get("--into") or ""
    names = {f.id for f in found}
    records = [record for record in ledger.records if record.id in names]
    if not records:
        raise UsageError(
            f"nothing in the ledger {ledger.path} fits all of that", "leave an option out, or name another --ledger"
        )
    profiles = resolver.root / "profiles.yaml"
    ids = write(profiles, arm, records)
    say(f"written beside {arm} in {profiles}: {', '.join(ids) or 'nothing new'}\n")
    return OK


def drawn(line: Line, resolver: Resolver, evidence: Evidence, found: list[Figure]) -> int:
    """Draw what fits."""
    from resolver.views.figures_plot import METRIC, plot

    path = Path(line.get("--plot") or "")
    metric = line.get("--metric") or METRIC
    count = plot(resolver.rules, evidence, found, path, metric)
    if not line.given("--quiet"):
        say(f"{path}: {count} figures of {metric} over context\n")
    return OK
