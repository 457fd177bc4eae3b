"""Figures that stand beside their arm in profiles.yaml: their ids, and the hardware that they show the arm was measured on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from resolver.conditions import Path
from resolver.load.collect import Collector, words
from resolver.yaml12 import Document

ON_CPU = "none"


def read_ids(document: Document, data: Mapping[str, Any], path: Path, collect: Collector) -> tuple[str, ...]:
    """The ids of all figures of an arm: those quoted, then those that stand with it. An id that is there twice is an error."""
    out: list[str] = []
    quoted = words(data.get("figures"))
    for i, name in enumerate((*quoted, *(record["id"] for record in data.get("evidence", ())))):
        if name in out:
            k = i - len(quoted)
            where = (*path, "evidence", k, "id") if k >= 0 else (*path, "figures", i)
            said = f"{path[-1]}: the figure {name} is there twice"
            collect.fail("arm", said, document.position(where), "keep one of the two")
            continue
        out.append(name)
    return tuple(out)


def read_measured(
    document: Document, data: Mapping[str, Any], path: Path, capabilities: Collection[str], collect: Collector
) -> dict[str, str]:
    """Capability to hardware: what the arm says, and what its own evidence shows beside that."""
    found = {str(k): str(v) for k, v in data.get("measured", {}).items()}
    for i, record in enumerate(data.get("evidence", ())):
        capability, hardware = str(record["capability"]), str(record["hardware"])
        if capability == ON_CPU:
            continue
        if capability not in capabilities:
            collect.fail(
                "arm",
                f"{path[-1]}: measured on {capability}, which its `when` does not cover",
                document.position((*path, "evidence", i, "capability")),
                "put the figure to the arm that ran, or the capability into `when`",
            )
            continue
        there = found.get(capability, "").split(", ")
        if not any(name and hardware.startswith(name) for name in there):
            found[capability] = ", ".join(filter(None, (*there, hardware)))
    return found


def check_ids(arms: Mapping[str, Any], document: Document, collect: Collector) -> None:
    """A figure stands beside one arm only; others quote it."""
    first: dict[str, str] = {}
    for name, data in arms.items():
        for i, record in enumerate(data.get("evidence", ())):
            other = first.setdefault(record["id"], name)
            if other != name:
                collect.fail(
                    "arm",
                    f"{name}: the figure {record['id']} stands beside {other} already",
                    document.position(("arms", name, "evidence", i, "id")),
                    "give it another id, or quote it under `figures`",
                )
