"""Analyse the rules: what can never happen, what hides what, what nothing reads. Exact where the rules can be inverted.

`findings(resolver)` lists what is wrong with the rules themselves; `questions` answers what is asked about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolver.analysis.finding import Finding, Witness

if TYPE_CHECKING:
    from resolver.resolve import Resolver


def findings(resolver: Resolver) -> list[Finding]:
    """Everything that is wrong with the rules, in the order of files and lines; accepted findings are marked, not left out."""
    from resolver.analysis.run import run

    return run(resolver)


__all__ = ["Finding", "Witness", "findings"]
