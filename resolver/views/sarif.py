"""Findings of `check` as SARIF 2.1.0, the format that code hosts and editors show beside the line.

Source: OASIS Static Analysis Results Interchange Format (SARIF) Version 2.1.0, sections 3.13 to 3.35.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from resolver.analysis.finding import KINDS, Finding
from resolver.diagnostics import Position

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """One run with one result for each finding; an accepted one is suppressed, with its reason as the justification."""
    kinds = list(KINDS)
    driver = {
        "name": "launch.py check",
        "rules": [{"id": kind, "shortDescription": {"text": says}} for kind, says in KINDS.items()],
    }
    results = [_result(finding, kinds.index(finding.kind)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    out: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": f"{finding.message}; {finding.fix}"},
        "locations": [_location(finding.position)],
        "partialFingerprints": {"rule/v1": finding.key},
        "properties": {"rule": finding.rule, "exact": finding.exact},
    }
    if finding.others:
        out["relatedLocations"] = [_location(other) for other in finding.others]
    if finding.witness:
        out["properties"]["witness"] = finding.witness.as_json()
    if finding.rests_on:
        out["properties"]["restsOn"] = list(finding.rests_on)
    if finding.accepted:
        out["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return out


def _location(position: Position) -> dict[str, Any]:
    """Lines and columns count from 1, in SARIF as here."""
    place: dict[str, Any] = {"artifactLocation": {"uri": position.file.replace("\\", "/")}}
    if position.line >= 1:
        place["region"] = {"startLine": position.line, "startColumn": max(1, position.column)}
    return {"physicalLocation": place}
