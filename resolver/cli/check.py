"""`launch.py check`: read the rules anew, run every example, and with --origins account for every numbered rule."""

from __future__ import annotations

from typing import Any

from resolver.analysis import Finding, findings
from resolver.cli import check_questions
from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put
from resolver.compile import open_resolver
from resolver.resolve import Resolver
from resolver.views.check_examples import run_examples
from resolver.views.check_findings import lines
from resolver.views.matrix import cells
from resolver.views.origins import origins
from resolver.views.page import Page, dump, stdout_page


def run(line: Line) -> int:
    """Print what was checked; 1 when anything is wrong. Rules that cannot be read raise RulesError."""
    resolver = open_resolver()
    if check_questions.asked(line):
        return check_questions.run(line, resolver)
    if line.given("--engine"):
        from resolver.cli import check_engine

        return check_engine.run(line, resolver)
    report, found = _report(resolver, line.given("--origins"))
    if line.given("--sarif"):
        from resolver.views.sarif import sarif

        put(dump(sarif(found)))
    elif line.given("--json"):
        put(dump(report))
    else:
        _show(report, stdout_page(), line)
    return OK if report["ok"] else REFUSED


def _report(resolver: Resolver, with_origins: bool) -> tuple[dict[str, Any], list[Finding]]:
    """What was checked as plain data, and the findings as they are."""
    rules = resolver.rules
    outcomes = list(run_examples(resolver))
    wrong = [
        {"position": str(o.position), "of": o.owner, "claim": o.claim, "instead": o.instead}
        for o in outcomes
        if not o.holds
    ]
    twice = [
        {"ctx": c.ctx, "spec": c.spec, "backend": c.backend, "capability": c.capability, "arms": list(c.arms)}
        for c in cells(rules)
        if len(c.arms) > 1
    ]
    report: dict[str, Any] = {
        "schema": 1,
        "counts": {
            "knobs": len(rules.knobs),
            "settings": len(rules.settings),
            "guards": len(rules.guards),
            "arms": len(rules.arms),
            "profiles": len(rules.profiles),
            "examples": len(outcomes),
        },
        "wrong_examples": wrong,
        "cells_with_two_arms": twice,
    }
    analysed = findings(resolver, outcomes)
    report["findings"] = [finding.as_json() for finding in analysed]
    report["ok"] = not wrong and not twice and all(finding.accepted for finding in analysed)
    if with_origins:
        found, strangers = origins(rules)
        report["origins"] = [
            {"number": o.number, "places": o.places, "dropped": o.dropped, "broken": o.broken, "ok": o.fine}
            for o in found
        ]
        report["unknown_origins"] = strangers
        report["ok"] = report["ok"] and not strangers and all(o.fine for o in found)
    return report, analysed


def _show(report: dict[str, Any], page: Page, line: Line) -> None:
    quiet = line.given("--quiet")
    if "origins" in report:
        _show_origins(report, page, quiet, line.given("--verbose"))
    if not quiet:
        page.line(", ".join(f"{number} {what}" for what, number in report["counts"].items()))
    for wrong in report["wrong_examples"]:
        page.line(f"{wrong['position']}: {wrong['of']} claims {wrong['claim']}, and {wrong['instead']}", "error")
    for cell in report["cells_with_two_arms"]:
        where = f"CTX={cell['ctx']} SPEC={cell['spec']} {cell['backend']} on {cell['capability']}"
        page.line(f"two arms cover {where}: {', '.join(cell['arms'])}", "error")
    for text, style in lines(report["findings"], line.given("--verbose")):
        page.line(text, style)
    if not quiet:
        page.line("everything holds" if report["ok"] else "not everything holds", "good" if report["ok"] else "error")


def _show_origins(report: dict[str, Any], page: Page, quiet: bool, verbose: bool) -> None:
    missing = []
    for item in report["origins"]:
        if not item["ok"]:
            missing.append(item["number"])
            broken = f"named, and not there: {', '.join(item['broken'])}" if item["broken"] else "no implementation"
            both = "implemented and dropped as well" if item["places"] and item["dropped"] else broken
            page.line(f"{item['number']:<5} {both}", "error")
        elif not quiet:
            if item["dropped"]:
                page.line(f"{item['number']:<5} dropped: {item['dropped']}", "dim")
            else:
                more = len(item["places"]) - 1
                tail = f" and {more} more" if more and not verbose else ""
                page.line(f"{item['number']:<5} {'; '.join(item['places']) if verbose else item['places'][0]}{tail}")
    for stranger in report["unknown_origins"]:
        page.line(f"no such numbered rule: {stranger}", "error")
    if not quiet:
        dropped = sum(1 for item in report["origins"] if item["dropped"])
        done = len(report["origins"]) - dropped - len(missing)
        page.line(
            f"{len(report['origins'])} numbered rules: {done} implemented, {dropped} dropped, {len(missing)} missing"
        )
