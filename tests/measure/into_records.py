"""Records of numbers that may be written beside an arm, for the tests of --into."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from resolver.compile import product_root
from resolver.measure import ledger
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import CardState, Provenance, gather
from tests.explain.requests import ask

ROOT = product_root()
ARM = "mtp-long-fp8"


def speed(value: float = 68.123456, **more: Any) -> Measurement:
    parts: dict[str, Any] = {
        "n": 5,
        "low": 67.5,
        "high": 69.0,
        "spread": "min-max",
        "conditions": {"context": 112000, "streams": 1, "seed": 7, "corpus": "v1: x", "cache_state": "cold prompt"},
        "method": "decode",
        "notes": ("mean 68.2",),
    }
    return Measurement("decode_tok_s", value, "tok/s", **{**parts, **more})


def on(*words: str, profile: str = "mtp-long", **more: Any) -> Provenance:
    card = CardState(250, {"sm_mhz": 1695}, "580.95.05")
    found = gather(ask(profile, *(words or ("PTH_FA=0",))), card=card, rules="0" * 16, at="2026-12-01T10:00:00Z")
    return replace(found, **more)


def records(folder: Path, provenance: Provenance, *measurements: Measurement) -> list[ledger.Record]:
    return ledger.append(folder / "figures.jsonl", measurements or [speed()], provenance)


def added(before: bytes, after: bytes) -> bytes:
    """The one piece that was put in; fails when anything else differs."""
    start = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    rest = len(before) - start
    assert after[len(after) - rest :] == before[start:]
    return after[start : len(after) - rest]
