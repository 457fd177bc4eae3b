"""Which attention backends serve a case: one table, from the engine's data, for the launch and for every message about it."""

from __future__ import annotations

from dataclasses import dataclass

from resolver.engine import Engine


@dataclass(frozen=True, slots=True)
class Verdict:
    """`serves`: the backends that run the case; `picked`: what the engine takes by itself; `reasons`: why the asked one does not."""

    known: bool
    serves: tuple[str, ...] = ()
    picked: str | None = None
    reasons: tuple[str, ...] = ()


def judge(
    engine: Engine,
    capability: str | None,
    kv_cache_dtype: str | None,
    block_size: int | None,
    causal: bool,
    backend: str | None,
) -> Verdict:
    """Look the case up. `backend` None: the engine chooses. `known` is False when the data says nothing about the case."""
    if engine.attention is None or capability is None:
        return Verdict(False)
    rows = engine.support(capability, kv_cache_dtype or "auto", block_size, causal)
    if not rows:
        return Verdict(False)
    serves = tuple(dict.fromkeys(b for row in rows for b in row.serves))
    picked = next((row.auto for row in rows if row.auto in serves), None)
    reasons = tuple(why for row in rows for why in row.refuses.get(backend or "", ()))
    return Verdict(True, serves, picked, reasons)
