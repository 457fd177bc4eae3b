"""What did a tool find? Numbers, and findings: clean, broken or inconclusive, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from resolver.measure.measurement import Measurement

Verdict = Literal["clean", "broken", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a tool looked at.

    Attributes:
        subject: what was looked at: "residues", "tool call", "traffic".
        verdict: "clean" was checked in full and is right; "broken" was seen to be wrong; "inconclusive" says neither.
        reason: why, in one sentence.
        details: what a reader needs to look further, as JSON takes it.
    """

    subject: str
    verdict: Verdict
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "subject": self.subject,
            "verdict": self.verdict,
            "reason": self.reason,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All that one tool found. `interrupted` says that it was stopped before its end."""

    tool: str
    measurements: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    interrupted: bool = False

    @property
    def verdict(self) -> Verdict:
        """The worst of the findings; a report without any has concluded nothing."""
        seen = {finding.verdict for finding in self.findings}
        if "broken" in seen:
            return "broken"
        return "clean" if seen == {"clean"} and not self.interrupted else "inconclusive"

    def unsound(self, why: str) -> Report:
        """Return it with every number marked as not to be recorded."""
        return replace(self, measurements=tuple(one.unsound(why) for one in self.measurements))

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "tool": self.tool,
            "verdict": self.verdict,
            "interrupted": self.interrupted,
            "measurements": [one.as_json() for one in self.measurements],
            "findings": [one.as_json() for one in self.findings],
        }
