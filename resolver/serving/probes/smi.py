"""What does nvidia-smi say about the cards? The fallback where NVML's Python package is missing or fails."""

from __future__ import annotations

import csv
import re

from resolver.serving.probes.basis import Unknown, World, output
from resolver.serving.probes.cards import Card, Cards

FIELDS = ("uuid", "name", "driver_version", "memory.total", "memory.free", "mig.mode.current", "compute_cap")
WSL_PLACE = "/usr/lib/wsl/lib/nvidia-smi"  # where WSL has it, often not on PATH


def read(world: World) -> Cards:
    """Ask nvidia-smi for the cards. A driver too old for a field is asked again without it, and that fact is unknown.

    Raises:
        Unknown: nvidia-smi is missing, hangs, fails, or prints something else than asked for.
    """
    program = world.program("nvidia-smi", WSL_PLACE)
    if program is None:
        raise Unknown("nvidia-smi is not on PATH")
    fields = list(FIELDS)
    while True:
        words = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        text = output(world, words, must_succeed=False)
        unknown = re.search(r'Field "([\w.]+)" is not a valid field', text)
        if unknown is None or unknown[1] not in fields:
            break
        fields.remove(unknown[1])
    rows = [row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    if rows and all(len(row) == len(fields) and row[0].startswith("GPU-") for row in rows):
        cards = [dict(zip(fields, row, strict=True)) for row in rows]
        return Cards(tuple(_card(card) for card in cards), _known(cards[0].get("driver_version")), "nvidia-smi")
    if "No devices were found" in text:
        return Cards((), None, "nvidia-smi")
    raise Unknown(f"nvidia-smi printed something else than asked for: {text.strip()[:120] or 'nothing'}")


def _known(text: str | None) -> str | None:
    text = (text or "").strip()
    return None if not text or text.startswith("[") or text in ("N/A", "Unknown Error") else text


def _number(text: str | None) -> int | None:
    known = _known(text)
    return int(known) if known and known.isascii() and known.isdigit() else None


def _card(row: dict[str, str]) -> Card:
    pair = re.fullmatch(r"(\d+)\.(\d+)", _known(row.get("compute_cap")) or "")
    cut = _known(row.get("mig.mode.current")) == "Enabled"
    return Card(
        row["uuid"],
        _known(row.get("name")),
        (int(pair[1]), int(pair[2])) if pair else None,
        _number(row.get("memory.total")),
        _number(row.get("memory.free")),
        None if cut else (),
    )
