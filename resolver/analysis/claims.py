"""What a replayed request must do to be a witness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.conditions import Condition
from resolver.interpret import holds

if TYPE_CHECKING:
    from resolver.analysis.replay import Claim
    from resolver.model import Arm
    from resolver.resolution import Resolution


def fired(resolution: Resolution) -> set[str]:
    """The guards that fire."""
    return {guard.id for guard in resolution.fired}


def fires(guard: str) -> Claim:
    return lambda resolution: guard in fired(resolution)


def silent(*guards: str) -> Claim:
    return lambda resolution: not fired(resolution) & set(guards)


def wins(setting: str, row: int) -> Claim:
    return lambda resolution: resolution.state.rows[resolution.resolver.number[setting]] == row


def another_wins(setting: str, row: int, condition: Condition) -> Claim:
    """The row's own condition holds, and an earlier row is taken."""

    def claim(resolution: Resolution) -> bool:
        return holds(resolution, condition) and 0 <= resolution.state.rows[resolution.resolver.number[setting]] < row

    return claim


def refused(resolution: Resolution) -> bool:
    return resolution.refused


def refused_besides(guard: str) -> Claim:
    """The guard fires, and something else refuses as well."""

    def claim(resolution: Resolution) -> bool:
        others = {d.rule for d in resolution.diagnostics if d.severity in ("refuse", "error")} - {guard}
        return guard in fired(resolution) and bool(others)

    return claim


def both_fire(*guards: str) -> Claim:
    return lambda resolution: set(guards) <= fired(resolution)


def same_value(a: str, b: str) -> Claim:
    return lambda resolution: bool(resolution.setting(a) == resolution.setting(b))


def asks_for(*arms: Arm) -> Claim:
    """Each of the arms is a candidate and asked for by name."""

    def claim(resolution: Resolution) -> bool:
        return all(
            a.chosen_by is not None and holds(resolution, a.when) and holds(resolution, a.chosen_by) for a in arms
        )

    return claim
