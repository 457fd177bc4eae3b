"""What the analyser reports: one Finding for each thing that is wrong, with the request that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resolver.diagnostics import Position

KINDS = {
    "dead": "a row, guard or arm whose condition can never hold",
    "dead-part": "a part of a condition that never holds, in a rule that otherwise works",
    "shadowed": "a row or arm that can hold, but rows before it always take the request",
    "redundant": "a row without reason or figures of its own, without which the setting would be the same",
    "masked": "a guard that only speaks where others have refused already",
    "same": "two rules that say the same",
    "overlap": "two arms that one request asks for by name",
    "gap": "a cell of the matrix that no arm serves",
    "unreachable-default": "a default that no request gets",
    "unread": "a knob, fact or setting that nothing reads",
    "refused-value": "a value of a knob that is refused everywhere",
    "untaken": "a value that no known engine takes where it is rendered",
    "figures": "a figure that does not exist, or that speaks of older versions than the rule",
    "version-gap": "known engine versions between two windows of one rule",
    "example": "an example that does not do what it says",
    "accepted": "an accepted finding that no longer exists",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """A request and machine that shows the finding, in the form that `resolve --batch` takes; `shows` says what it does.

    It was resolved, and did what `shows` says, before it became a witness.
    """

    request: Mapping[str, Any]
    shows: str

    def as_json(self) -> dict[str, Any]:
        return {"request": dict(self.request), "shows": self.shows}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the rules. `exact` False: it rests on a setting that cannot be inverted (`rests_on`)."""

    kind: str
    rule: str
    message: str
    position: Position
    fix: str
    witness: Witness | None = None
    rests_on: tuple[str, ...] = ()
    accepted: str | None = None
    others: tuple[Position, ...] = field(default=())

    @property
    def exact(self) -> bool:
        return not self.rests_on

    @property
    def key(self) -> str:
        """What rules/accepted_findings.yaml names it by."""
        return f"{self.kind} {self.rule}"

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON; absent parts are left out."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "rule": self.rule,
            "message": self.message,
            "position": str(self.position),
            "fix": self.fix,
            "exact": self.exact,
        }
        if self.others:
            out["see"] = [str(p) for p in self.others]
        if self.witness:
            out["witness"] = self.witness.as_json()
        if self.rests_on:
            out["rests_on"] = list(self.rests_on)
        if self.accepted:
            out["accepted"] = self.accepted
        return out
