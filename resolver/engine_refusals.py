"""What an attention backend that a plugin brings refuses: the plugin's own records, as its overlay carries them.

The records speak of vLLM's names (`device_capability`, `use_dcp`), because the plugin answers vLLM with them; what a launch knows of
these is in `resolver.attention_facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from resolver.diagnostics import Position

if TYPE_CHECKING:
    from resolver.yaml12 import Document


class Refusal(NamedTuple):
    """One record: `backend` refuses, for the reason `refuse` and with the way out `fix`, what meets all conditions of `when`."""

    id: str
    backend: str
    refuse: str
    fix: str
    when: Mapping[str, Any]
    position: Position

    def fires(self, facts: Mapping[str, Any]) -> bool:
        """Whether every condition is met. One on a fact that is not given is not."""
        return all(name in facts and holds(condition, facts[name]) for name, condition in self.when.items())


def holds(condition: Any, value: Any) -> bool:
    """Whether a value meets one condition: equality, or a mapping of one kind to its operand."""
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    ((kind, operand),) = condition.items()
    if kind == "in":
        return value in operand
    if kind == "not_in":
        return value not in operand
    if kind == "below":
        return value is not None and tuple(value) < tuple(operand)
    return value is not None and value % operand != 0  # not_multiple_of: the schema knows no other kind


def read_refusals(document: Document) -> list[Refusal]:
    """The records of an overlay's file, which has passed its schema."""
    return [
        Refusal(
            record["id"],
            record["backend"],
            record["refuse"],
            record["fix"],
            record["when"],
            document.position(("brings", "refusals", index)),
        )
        for index, record in enumerate(document.data["brings"].get("refusals", ()))
    ]
