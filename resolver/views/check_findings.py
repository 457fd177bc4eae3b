"""Show what the analyser found: each finding in three lines, and what was accepted in one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def lines(findings: Sequence[Mapping[str, Any]], verbose: bool) -> Iterator[tuple[str, str]]:
    """(text, style) for each line of findings as JSON has them; accepted ones only when `verbose`."""
    for finding in findings:
        accepted = finding.get("accepted")
        if accepted and not verbose:
            continue
        yield f"{finding['position']}: {finding['kind']}: {finding['message']}", "dim" if accepted else "error"
        if accepted:
            yield f"  accepted: {accepted}", "dim"
            continue
        yield f"  fix: {finding['fix']}", ""
        for other in finding.get("see", ()):
            yield f"  see: {other}", "dim"
        if witness := finding.get("witness"):
            request = json.dumps(witness["request"], ensure_ascii=False)
            yield f"  witness ({witness['shows']}): {request}", "dim"
        if not finding["exact"]:
            yield f"  not exact: it rests on {', '.join(finding['rests_on'])}", "dim"
    accepted_ones = sum(1 for f in findings if f.get("accepted"))
    if accepted_ones:
        yield f"{accepted_ones} findings are accepted in rules/accepted_findings.yaml", "dim"
