"""Is a model folder whole? Looked at are names, sizes and the headers of weight files; no weight is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from resolver.doctor.finding import Launch
from resolver.serving.probes.basis import World

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tekken.json")
POINTER = b"version https://git-lfs"
LONGEST_HEADER = 100 << 20


def faults(folder: Path) -> list[str]:
    """What is missing or broken in a model folder; empty when nothing is."""
    if not (folder / "config.json").is_file():
        return ["config.json is missing"]
    found = []
    for left in sorted(folder.glob("*.incomplete")) + sorted(folder.glob("*.part")):
        found.append(f"{left.name} is left of a download")
    weights = sorted(folder.glob("*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        found += [f"{name} is missing" for name in _wanted(index) if not (folder / name).is_file()]
    elif not weights and not any(folder.glob("*.bin")) and not any(folder.glob("*.gguf")):
        found.append("there are no weights")
    for path in weights:
        fault = weight_fault(path)
        if fault:
            found.append(f"{path.name} {fault}")
    return found


def _wanted(index: Path) -> list[str]:
    try:
        names = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        return [f"{index.name} in a readable form"]
    return sorted(str(name) for name in names)


def weight_fault(path: Path) -> str | None:
    """Why a safetensors file cannot be whole: its header says how long it must be. None when it is as long as that."""
    size = path.stat().st_size
    with path.open("rb") as handle:
        first = handle.read(8)
        if first + handle.read(len(POINTER) - 8) == POINTER:
            return "is a git-lfs pointer, not weights"
        if len(first) < 8:
            return "is empty"
        length = int.from_bytes(first, "little")
        if length > min(LONGEST_HEADER, size):
            return "is cut short"
        handle.seek(8)
        try:
            header: dict[str, Any] = json.loads(handle.read(length))
            ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            return "has a header that cannot be read"
    must = 8 + length + max(ends, default=0)
    return None if size == must else f"has {size:,} of {must:,} bytes"


def _folder(name: str | None) -> Path | None:
    return Path(name) if name and os.path.isabs(name) else None


def model(world: World, launch: Launch) -> dict[str, Any] | None:
    """The model's folder: whether it is there, its faults, whether it has a tokenizer; None when it is no local folder."""
    folder = _folder(launch.model)
    return None if folder is None else _look(folder)


def draft(world: World, launch: Launch) -> dict[str, Any] | None:
    """The drafter's folder likewise."""
    folder = _folder(launch.draft)
    return None if folder is None else _look(folder)


def _look(folder: Path) -> dict[str, Any]:
    there = folder.is_dir()
    return {
        "there": there,
        "faults": faults(folder) if there else [],
        "tokenizer": there and any((folder / name).is_file() for name in TOKENIZERS),
    }


QUESTIONS: dict[str, Any] = {"model": model, "draft": draft}
