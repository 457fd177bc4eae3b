"""Say when nobody measured the arm on this machine's compute capability: the launch may still be right, but no figure shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resolver.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def unmeasured(resolution: Resolution) -> Iterator[Diagnostic]:
    """A note, when the arm is taken on a GPU of a known capability that its `measured` does not list."""
    arm = resolution.rules.arms.get(resolution.setting("arm"))
    capability = resolution.facts.get("gpu.capability")
    if arm is None or capability is None or str(capability) in arm.measured:
        return
    elsewhere = "; ".join(f"{on} ({who})" for on, who in arm.measured.items())
    where = f"it was on {elsewhere}" if elsewhere else "nor on any other"
    yield Diagnostic(
        "note",
        "arm-not-measured-on-this-gpu",
        f"arm {arm.name} was not measured on compute capability {capability}, {where}",
        "see `launch.py arms` for the arms that were, and check the answers before relying on it",
        arm.position,
    )
