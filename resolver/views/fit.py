"""Does the launch fit, what will the engine print, and which knob buys how much? One answer as data; fit_text.py shows it."""

from __future__ import annotations

from typing import Any

from resolver.geometry import solve
from resolver.geometry.budget import GIB, parts
from resolver.geometry.data import Band
from resolver.geometry.pool import numbers
from resolver.geometry.shapes import NoGeometry, Setup
from resolver.geometry.sheet import Sheet
from resolver.geometry.verdict import Question, Verdict, judge
from resolver.views.fit_setup import Asked

SOLVABLE = ("max_model_len", "max_num_seqs", "num_speculative_tokens")
END = {"low": "in the worst case", "high": "in the best case"}


def verdict(ask: Asked) -> Verdict:
    """The verdict on what is asked."""
    return judge(ask.known, ask.setup, ask.load, ask.card, ask.share)


def pools(found: Verdict) -> dict[str, int]:
    """The pool in bytes: `exact`, or its `low` and `high` end; empty when unknown."""
    if found.pool is None:
        return {}
    low, high = max(0, int(found.pool.low * GIB)), max(0, int(found.pool.high * GIB))
    return {"exact": low} if found.pool.low == found.pool.high else {"low": low, "high": high}


def sheets(ask: Asked, found: Verdict) -> dict[str, Sheet]:
    """The numbers for each end of the pool, or for none (`without a pool`)."""
    if ask.setup.pool_bytes is not None:
        return {"exact": numbers(ask.setup)}
    ends = pools(found)
    if not ends:
        return {"without a pool": numbers(ask.setup)}
    return {end: numbers(ask.setup._replace(pool_bytes=size)) for end, size in ends.items()}


def solved(ask: Asked, found: Verdict, what: str) -> dict[str, Any]:
    """The largest value of `what` at each end of the pool."""
    out: dict[str, Any] = {}
    for end in pools(found):
        setup = _at(ask, found, end)
        if what == "max_model_len":
            out[end] = solve.max_model_len(setup)
        elif what == "num_speculative_tokens":
            if setup.drafter == "none":
                raise NoGeometry("this launch drafts nothing", "choose SPEC=mtp or SPEC=dflash2")
            out[end] = solve.num_speculative_tokens(setup)
        else:
            full, low, high = solve.max_num_seqs(setup)
            out[end] = {"at_full_length": full, "short": low, "empty": high}
    return out


def _at(ask: Asked, found: Verdict, end: str) -> Setup:
    if ask.setup.pool_bytes is not None:
        return ask.setup
    return ask.setup._replace(pool_bytes=pools(found)[end])


def trades(ask: Asked, found: Verdict) -> list[dict[str, Any]]:
    """Which knob buys how much: each change by itself, at the exact pool or the low end of it."""
    end = next(iter(pools(found)), None)
    if end is None:
        return []
    here = _at(ask, found, end)
    rows = [_trade("as it is", here)]
    for name, other in _changes(ask, here):
        rows.append(_trade(name, other))
    return rows


def _changes(ask: Asked, here: Setup) -> list[tuple[str, Setup]]:
    out: list[tuple[str, Setup]] = []
    knob = {"dflash": "DFLASH_TOKENS", "mtp": "DRAFT_TOKENS"}.get(here.drafter)
    if knob:
        for drafts in sorted({1, 3, 4, 7, 15} - {here.drafts}):
            out.append((f"{knob}={drafts}", here._replace(drafts=drafts)))
    for form in ask.known.formats.values():
        if form != here.format and not ask.host_pool:
            out.append((f"cache {form.names[0]}", here._replace(format=form)))
    if here.shape.recurrent:
        flipped = not here.caches_prefixes
        out.append((f"PREFIX_CACHE={int(flipped)}", here._replace(caches_prefixes=flipped)))
    if here.drafter == "dflash":
        flipped = not here.async_scheduling
        out.append((f"ASYNC_SCHED={int(flipped)}", here._replace(async_scheduling=flipped)))
        out.append(("--max-num-batched-tokens 4096", here._replace(batched_tokens=4096)))
    assert here.pool_bytes is not None
    out.append(("pool 256 MiB larger", here._replace(pool_bytes=here.pool_bytes + (256 << 20))))
    if here.tensor_parallel == 1 and not ask.host_pool:
        out.append(("TENSOR_PARALLEL_SIZE=2, as large a pool on each", here._replace(tensor_parallel=2)))
    return out


def _trade(name: str, setup: Setup) -> dict[str, Any]:
    row: dict[str, Any] = {"change": name}
    try:
        sheet = numbers(setup)
    except NoGeometry as none:
        return {**row, "why_not": none.message}
    full, low, high = solve.max_num_seqs(setup)
    return {
        **row,
        "block": sheet["block"],
        "printed_tokens": sheet.get("printed_tokens"),
        "fits": solve.holds(setup),
        "max_model_len": solve.max_model_len(setup),
        "seats": {"at_full_length": full, "short": low, "empty": high},
    }


def printed(sheet: Sheet, setup: Setup, cpu: bool) -> str:
    """The line that the engine will print of its pool."""
    tokens, pages = sheet["printed_tokens"], sheet["pool_pages"]
    times = pages / sheet["request_pages"]
    return (
        f"{'CPU' if cpu else 'GPU'} KV cache size: {tokens:,} tokens, "
        f"Maximum concurrency for {setup.max_model_len:,} tokens per request: {times:.2f}x"
    )


def as_json(ask: Asked, what: str | None, formulas: bool) -> dict[str, Any]:
    """All of the answer as plain data."""
    found = verdict(ask)
    out: dict[str, Any] = {
        "schema": 1,
        "answer": found.answer,
        "questions": [_question(q) for q in found.questions],
        "grouping": grouping_note(ask.setup),
        "numbers": {end: {n.name: n.value for n in sheet} for end, sheet in sheets(ask, found).items()},
        "prints": {
            end: printed(sheet, ask.setup, ask.host_pool)
            for end, sheet in sheets(ask, found).items()
            if "printed_tokens" in sheet
        },
        "parts": [{"name": p.name, **_band(p.band)} for p in (parts(ask.known, ask.load) or [] if ask.load else [])],
        "knobs": trades(ask, found),
    }
    if what:
        out["solve"] = {what: solved(ask, found, what)}
    if formulas:
        first = next(iter(sheets(ask, found).values()))
        out["formulas"] = [
            {"name": n.name, "value": n.value, "unit": n.unit, "formula": n.formula, "filled": n.filled, "note": n.note}
            for n in first
        ]
    return out


def _question(q: Question) -> dict[str, Any]:
    return {
        "name": q.name,
        "answer": q.answer,
        "need_gib": _band(q.need) if q.need else None,
        "have_gib": _band(q.have) if q.have else None,
        "margin_gib": [round(x, 3) for x in q.margin] if q.margin else None,
        "why": q.why,
    }


def _band(band: Band) -> dict[str, Any]:
    return {
        "low": round(band.low, 3),
        "high": round(band.high, 3),
        "source": band.source,
        **({"figures": list(band.figures)} if band.figures else {}),
    }


def grouping_note(setup: Setup) -> str:
    """How layers are grouped, and how sure that is."""
    if setup.grouping == "patched":
        return "patched groups: booted"
    if setup.grouping == "packed":
        return "packed groups: derived from code, not booted"
    if setup.drafter == "dflash" and setup.shape.name == "qwen3.8-27b":
        return "stock groups: derived from code, not booted with this model; the same rule is booted with a smaller one"
    return "stock groups: booted"
