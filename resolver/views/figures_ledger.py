"""The figures of a ledger, beside those that the product comes with. They are shown and compared; launches are picked without them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from resolver.diagnostics import Position
from resolver.views.evidence import Evidence, Figure

if TYPE_CHECKING:
    from resolver.measure.ledger import Ledger, Record

SOURCE = "ledger"


def figure_of(record: Record, file: str) -> Figure:
    """A record as a figure; what figures have no name for stands in its provenance, with the facts and words of the launch."""
    from resolver.measure.into_record import item_of

    item: dict[str, Any] = item_of(record)
    item["low"], item["high"] = item.pop("min", None), item.pop("max", None)
    capability = item.pop("capability", None)
    on = record.provenance
    more = {
        "capability": capability,
        "gpu": on.gpu,
        "profile": on.profile,
        "at": on.at,
        "argv": list(on.argv),
        "environment": dict(on.environment),
        "facts": dict(on.facts),
    }
    known = {name: value for name, value in more.items() if value is not None and value not in ([], {})}
    item["provenance"] = {**item.get("provenance", {}), **known}
    return Figure(**{**item, "source": SOURCE}, arm=on.arm, position=Position(file, record.line, 1))


def with_ledger(evidence: Evidence, ledger: Ledger) -> Evidence:
    """The evidence with the ledger's figures before it, the newest first; one that is evidence already gets its facts and words."""
    figures: dict[str, Figure] = {}
    hardware = dict(evidence.hardware)
    later: dict[str, Figure] = {}
    for record in sorted(ledger.records, key=lambda r: (r.provenance.at, r.line), reverse=True):
        figure = figure_of(record, str(ledger.path))
        beside = evidence.figures.get(figure.id)
        if beside is not None:
            later[figure.id] = replace(beside, provenance={**figure.provenance, **beside.provenance})
            continue
        figures[figure.id] = figure
        if figure.hardware and figure.hardware not in hardware:
            capability = figure.provenance.get("capability")
            gpus = record.provenance.gpus
            known = {"capability": capability} if capability not in (None, "none") else {}
            hardware[figure.hardware] = {"gpus": 1 if gpus is None else gpus, **known}
    every = {**figures, **evidence.figures, **later}
    return replace(evidence, figures=every, hardware=hardware)
