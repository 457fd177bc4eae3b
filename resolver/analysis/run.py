"""Run every analysis over one set of rules."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.analysis import arms, documents, parts, rows, unread, untaken, values_of_knobs
from resolver.analysis.accepted import mark
from resolver.analysis.finding import Finding
from resolver.analysis.model import Model
from resolver.resolve import Resolver
from resolver.views.check_examples import Outcome


def run(resolver: Resolver, outcomes: Iterable[Outcome] | None = None) -> list[Finding]:
    """All findings, sorted by place. `outcomes`: those of the examples, where they have been run."""
    model = Model.of(resolver)
    found = [
        *rows.rows(model),
        *rows.guards(model),
        *parts.dead_parts(model),
        *rows.same_settings(model),
        *rows.version_gaps(model),
        *arms.overlaps(model),
        *arms.gaps(model),
        *values_of_knobs.refused_values(model),
        *unread.unread(model),
        *untaken.untaken(model),
        *documents.examples(resolver, outcomes),
        *documents.figures(resolver),
        *documents.evidence(resolver),
    ]
    return sorted(
        mark(resolver.root, found), key=lambda f: (f.position.file, f.position.line, f.position.column, f.kind)
    )
