"""Analyse the rules: what can never happen, what hides what, what nothing reads. Exact where the rules can be inverted.

`findings(resolver)` lists what is wrong with the rules themselves; `questions` answers what is asked about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from resolver.analysis.finding import Finding, Witness

if TYPE_CHECKING:
    from resolver.resolve import Resolver
    from resolver.views.check_examples import Outcome


def findings(resolver: Resolver, outcomes: Iterable[Outcome] | None = None) -> list[Finding]:
    """Everything that is wrong with the rules, in the order of files and lines; accepted findings are marked, not left out.

    `outcomes`: those of the examples, where they have been run already.
    """
    from resolver.analysis.run import run

    return run(resolver, outcomes)


__all__ = ["Finding", "Witness", "findings"]
