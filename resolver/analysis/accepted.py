"""Findings that are known and justified, listed in rules/accepted_findings.yaml; an entry that no longer applies is a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from resolver.analysis.finding import KINDS, Finding
from resolver.diagnostics import Diagnostic, Position, RulesError

FILE = "rules/accepted_findings.yaml"


def read_accepted(root: Path) -> dict[str, tuple[str, Position]]:
    """By `kind rule`: why it is accepted, and where that stands. Raises RulesError for a broken file."""
    from resolver.yaml12 import read

    path = root / FILE
    if not path.exists():
        return {}
    document = read(path, FILE)
    data = (document.data or {}).get("accepted") if isinstance(document.data or {}, dict) else None
    found: dict[str, tuple[str, Position]] = {}
    for key, why in (data or {}).items() if isinstance(data or {}, dict) else ():
        position = document.position(("accepted", key), key=True)
        kind, _, rule = str(key).partition(" ")
        if kind not in KINDS or not rule or not isinstance(why, str) or len(why) < 10:
            raise RulesError(
                [
                    Diagnostic(
                        "error",
                        "accepted",
                        f"{key!r} is not `KIND RULE: reason`",
                        f"use one of {', '.join(KINDS)}",
                        position,
                    )
                ]
            )
        found[str(key)] = (why, position)
    return found


def mark(root: Path, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those that are accepted marked with the reason, and entries of the file without a finding."""
    accepted = read_accepted(root)
    used: set[str] = set()
    for finding in findings:
        why = accepted.get(finding.key)
        used |= {finding.key} if why else set()
        yield replace(finding, accepted=why[0]) if why else finding
    for key, (_, position) in accepted.items():
        if key not in used:
            yield Finding(
                "accepted", key, f"`{key}` is accepted, and there is no such finding", position, "remove the entry"
            )
