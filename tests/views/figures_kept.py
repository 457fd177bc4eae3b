"""Figures in a ledger, for the tests of the views that show them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from resolver.compile import product_root
from resolver.measure import ledger
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import CardState, Provenance, gather
from resolver.measure.rules_hash import rules_hash
from resolver.views.evidence import Figure
from resolver.views.figures_ledger import figure_of
from tests.explain.requests import ask

ROOT = product_root()
hash_of = lru_cache(rules_hash)


def speed(value: float = 70, context: int = 112000, **more: Any) -> Measurement:
    conditions = {"context": context, "streams": 1, "cache_state": "cold prompt", **more.pop("conditions", {})}
    return Measurement("decode_tok_s", value, "tok/s", 5, conditions=conditions, method="decode", **more)


def on(*words: str, at: str = "2026-12-01T10:00:00Z", machine: str = "rtx-3090", **more: Any) -> Provenance:
    card = CardState(250, {"sm_mhz": 1695}, "580.95.05")
    launch = ask("mtp-long", *(words or ("PTH_FA=0",)), on=machine)
    return replace(
        gather(launch, card=card, rules=hash_of(ROOT, launch.engine.name), plugins={"splitverify": "0.1.0"}, at=at),
        **more,
    )


def kept(folder: Path, *pairs: tuple[Measurement, Provenance]) -> ledger.Ledger:
    path = folder / "figures.jsonl"
    for measurement, provenance in pairs:
        ledger.append(path, [measurement], provenance)
    return ledger.read(path)


def figure(folder: Path, measurement: Measurement | None = None, provenance: Provenance | None = None) -> Figure:
    found = kept(folder, (measurement or speed(), provenance or on()))
    return figure_of(found.records[-1], str(found.path))
