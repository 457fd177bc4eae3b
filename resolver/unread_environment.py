"""Say which variables of the caller's environment have no effect, though they look as if they had: misspelt knobs, misspelt variables
of the engine, and those of other versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from resolver.diagnostics import Diagnostic
from resolver.near_misses import near_misses_of

if TYPE_CHECKING:
    from resolver.resolution import Resolution

PREFIXES = ("VLLM_", "KVARN_", "FA2_")
MISSPELT = ("VLLM", "VLM", "VLMM", "VLLMM", "LVLM", "VLLN")
"""First words of a variable that stand for VLLM, one of its letters wrong; VLLM itself where the case is."""


def unread_environment(resolution: Resolution) -> Iterator[Diagnostic]:
    """A warning for a variable that is nearly a known one, a note for any other of the engine's prefixes that nothing reads.

    What --env-file says of its own variables is not said again.
    """
    request, engine, rules = resolution.request, resolution.engine, resolution.rules
    near_misses = near_misses_of(resolution.resolver)
    for name in sorted(request.environ):
        if name in engine.variables or name in rules.variables or name in near_misses.variables:
            continue
        if name.startswith(PREFIXES):
            near = near_misses.named(name.partition("_")[2]) or _near(
                name, {*engine.variables, *rules.variables, *near_misses.variables}
            )
            yield Diagnostic(
                "warn" if near else "note",
                "variable-that-nothing-reads",
                f"{name} is in the environment, and nothing in vLLM {engine.name} reads it",
                f"did you mean {near}?" if near else "unset it, unless a plugin of your own reads it",
            )
        elif name not in request.from_file:
            near = near_misses.knob(name, request.environ) or _other_prefix(name, engine.variables)
            if near:
                yield Diagnostic(
                    "warn",
                    "variable-that-is-no-knob",
                    f"{name} is in the environment, and there is no knob and no variable of vLLM of that name",
                    f"did you mean {near}?",
                )


def _other_prefix(name: str, variables: Collection[str]) -> str | None:
    """The engine's variable of which only the prefix is misspelt, or the case."""
    first, _, rest = name.upper().partition("_")
    right = f"VLLM_{rest}"
    return right if first in MISSPELT and right in variables else None


def _near(name: str, known: set[str]) -> str | None:
    """The known variable that was most likely meant."""
    import difflib

    words = set(name.split("_"))
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.75)
    return next((k for k in close if len(words & set(k.split("_"))) >= len(words) - 1), None)
