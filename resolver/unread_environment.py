"""Say which variables of the caller's environment look like the engine's and are read by nothing: misspelt ones, and those of other versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resolver.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resolver.resolution import Resolution

PREFIXES = ("VLLM_", "KVARN_", "FA2_")


def unread_environment(resolution: Resolution) -> Iterator[Diagnostic]:
    """A warning for a variable that is nearly a known one, a note for any other that nothing reads. Values are never looked at."""
    there = [name for name in resolution.request.environ if name.startswith(PREFIXES)]
    if not there:
        return
    read = (resolution.engine.variables, resolution.rules.variables, resolution.resolver.table.by_variable)
    unread = sorted(name for name in there if not any(name in known for known in read))
    if not unread:
        return
    known = {
        *resolution.engine.variables,
        *resolution.rules.variables,
        *(k.env for k in resolution.rules.knobs.values()),
    }
    for name in unread:
        near = _near(name, known)
        yield Diagnostic(
            "warn" if near else "note",
            "variable-that-nothing-reads",
            f"{name} is in the environment, and nothing in vLLM {resolution.engine.name} reads it",
            f"did you mean {near}?" if near else "unset it, unless a plugin of your own reads it",
        )


def _near(name: str, known: set[str]) -> str | None:
    """The known variable that was most likely meant."""
    import difflib

    words = set(name.split("_"))
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.75)
    return next((k for k in close if len(words & set(k.split("_"))) >= len(words) - 1), None)
