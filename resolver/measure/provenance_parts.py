"""Of which kind is what stands inside a field of a provenance? A ledger may hold anything; what is shown and compared may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

COUNTS = ("streams", "context_tokens", "draft_tokens")
"""Parts of a setup that are whole numbers."""


def odd_part(name: str, value: Any) -> str | None:
    """The way to a part that is of another kind than `as_json` of a provenance writes, such as `setup.knobs`; None where none is.

    Args:
        name: a field of Provenance.
        value: what was read for it, of the field's own kind.
    """
    if isinstance(value, list):
        return None if all(isinstance(part, str) for part in value) else name
    if not isinstance(value, dict):
        return None
    right = _RIGHT[name]
    return next((f"{name}.{key}"[:60] for key, part in value.items() if not right(key, part)), None)


def _text(_: str, part: Any) -> bool:
    return isinstance(part, str)


def _count(_: str, part: Any) -> bool:
    return isinstance(part, int) and not isinstance(part, bool)


def _plain(_: str, part: Any) -> bool:
    return isinstance(part, str | int | float | bool)


def _setup(key: str, part: Any) -> bool:
    if key == "knobs":
        return isinstance(part, dict) and all(_plain("", value) for value in part.values())
    return _count(key, part) if key in COUNTS else _plain(key, part)


def _fact(_: str, part: Any) -> bool:
    return part is None or all(_plain("", one) for one in (part if isinstance(part, list) else [part]))


_RIGHT: dict[str, Callable[[str, Any], bool]] = {
    "setup": _setup,
    "plugins": _text,
    "clocks": _count,
    "environment": _text,
    "facts": _fact,
}
