"""What follows from a sweep? Broken, where a residue does not give the text back; clean, where all of them were proved to; else nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resolver.measure.journal import Record
from resolver.measure.padding import MODULUS
from resolver.measure.report import Finding


def judge(residues: Sequence[int], records: Sequence[Record], controls: Sequence[Record]) -> Finding:
    """Conclude.

    Args:
        residues: the residues that were tried.
        records: what came at each.
        controls: copies that no cache had a part in.
    """
    served = {r: one for r, one in zip(residues, records, strict=True) if one["second"]["cached"]}
    missed = [r for r in residues if r not in served]
    failed = {r: one for r, one in zip(residues, records, strict=True) if wrong(one)}
    copies = any(_good(one["first"]) or _good(one["second"]) for one in records) or any(map(_good, controls))
    details: dict[str, Any] = {
        "covered": len(residues),
        "of": MODULUS,
        "served_from_cache": len(served),
        "not_covered": sorted(set(range(MODULUS)) - set(residues)),
        "not_served": missed,
        "control": [one["problem"] or one["kind"] for one in controls],
        "broken": {str(r): wrong(one) for r, one in failed.items()},
        "first_answers": {str(r): one["first"]["kind"] for r, one in failed.items()},
    }
    if not records:
        return Finding("residues", "inconclusive", "no residue was tried", details)
    if not copies:
        return Finding(
            "residues",
            "inconclusive",
            "this model does not copy a text even without the cache, so its copies say nothing about the cache",
            details,
        )
    if failed:
        kinds = sorted(set(map(wrong, failed.values())))
        return Finding(
            "residues",
            "broken",
            f"{len(failed)} of {len(residues)} residues do not give the text back ({', '.join(kinds)}): {_some(failed)}",
            details,
        )
    if missed:
        return Finding(
            "residues",
            "inconclusive",
            f"the cache served {len(served)} of {len(residues)} prompts, and a prompt that it does not serve tests nothing: "
            "a longer one (--contexts) may be served",
            details,
        )
    if len(residues) < MODULUS:
        return Finding(
            "residues", "inconclusive", f"{len(residues)} of {MODULUS} residues were tried, all of them fine", details
        )
    return Finding(
        "residues", "clean", f"all {MODULUS} residues were served from the cache and came back verbatim", details
    )


def _good(one: Record) -> bool:
    return not one["problem"] and one["kind"] == "verbatim"


def wrong(record: Record) -> str:
    """What is wrong at a residue; empty where nothing is."""
    for one in (record["second"], record["first"]):
        if one["problem"]:
            return "no whole answer"
        if one["kind"] != "verbatim":
            return str(one["kind"])
    return ""


def _some(failed: Mapping[int, Record]) -> str:
    names = [str(residue) for residue in sorted(failed)]
    return ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
