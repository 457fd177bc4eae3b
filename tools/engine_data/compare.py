"""Compares the data files with reference dumps that were made another way; a difference is a line of text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.engine_data.child.fake_cuda import DEVICE_NAME
from tools.engine_data.convert import KINDS, UNKNOWN

Json = Mapping[str, Any]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _same_default(ours: object, theirs: object) -> bool:
    """Whether two defaults agree, as far as the reference says: it has configurations and sets as Python text only."""
    if isinstance(ours, (dict, list)) and isinstance(theirs, str):
        return True
    return ours == theirs or (isinstance(theirs, str) and theirs.endswith(f": {ours!r}>"))


def flags(doc: Json, reference: Json) -> Iterator[str]:
    """Differences in which flags there are, their spellings, kinds, arities, choices and defaults."""
    version = doc["version"]
    theirs = {raw["dest"]: raw for raw in reference["flags"].values() if raw["options"]}
    for dest in sorted(theirs.keys() ^ doc["flags"].keys()):
        yield f"{version} flag {dest}: only in {'the reference' if dest in theirs else 'our file'}"
    for dest in sorted(theirs.keys() & doc["flags"].keys()):
        ours, raw = doc["flags"][dest], theirs[dest]
        options = {*ours["spellings"], *ours["negative"]}
        pairs = {"kind": KINDS[raw["action"]], "nargs": raw["nargs"], "choices": raw["choices"]}
        for field, value in pairs.items():
            if ours[field] != value:
                yield f"{version} flag {dest}: {field} {ours[field]!r} against {value!r}"
        if options != set(raw["options"]):
            yield f"{version} flag {dest}: spellings: {sorted(options ^ set(raw['options']))} on one side only"
        if not _same_default(ours["default"], raw["default"]):
            yield f"{version} flag {dest}: default {ours['default']!r} against {raw['default']!r}"


def verdicts(raw: Json) -> dict[str, tuple[str, list[str]]]:
    """What one row of the reference says of each backend: serves, refuses or unknown, and the reasons."""
    found: dict[str, tuple[str, list[str]]] = {}
    for backend, reasons in raw["explicit"].items():
        impl = raw["impl"].get(backend, "")
        if reasons:
            found[backend] = ("refuses", list(reasons))
        elif impl == "ok":
            found[backend] = ("serves", [])
        elif impl.startswith(UNKNOWN):
            found[backend] = ("unknown", [])
        else:
            found[backend] = ("refuses", [impl.replace(" on FAKE (", f" on {DEVICE_NAME} (")])
    return found


def matrix(doc: Json, reference: Json) -> Iterator[str]:
    """Differences between our attention rows and the reference's, both layers, and in which rows there are."""
    version = doc["version"]
    ours = {(r["capability"], r["kv_cache_dtype"], r["block_size"], r["causal"]): r for r in doc["attention"]["rows"]}
    theirs = {
        (r["capability"], r["kv_cache_dtype"], r["block_size"], not r["use_non_causal"]): r for r in reference["rows"]
    }
    for key in sorted(ours.keys() ^ theirs.keys(), key=str):
        yield f"{version} attention {key}: only in {'the reference' if key in theirs else 'our file'}"
    for key in sorted(ours.keys() & theirs.keys(), key=str):
        row, raw = ours[key], theirs[key]
        auto = raw["auto_order"][0] if raw["auto"] else None
        if row["auto"] != auto:
            yield f"{version} attention {key}: auto {row['auto']} against {auto}"
        for backend, (word, reasons) in verdicts(raw).items():
            ours_word = next((w for w in ("serves", "refuses", "unknown") if backend in row[w]), "missing")
            same = ours_word == word  # texts are compared by their first 200 characters: the dumps cut long ones
            if not same or (
                word == "refuses" and [r[:200] for r in row["refuses"][backend]] != [r[:200] for r in reasons]
            ):
                yield f"{version} attention {key}: {backend} {ours_word} against {word} {reasons}"


def folder(engines: Path, reference: Path) -> list[str]:
    """All differences of all versions for which both folders have files. Raises FileNotFoundError where none matches."""
    found: list[str] = []
    known = _load(reference / "envs.json")
    paths = [
        p
        for p in sorted(engines.glob("vllm-*.json"))
        if (reference / f"flags-{p.stem.removeprefix('vllm-')}.json").is_file()
    ]
    if not paths:
        raise FileNotFoundError(f"no version of {engines} has flags in {reference}")
    for path in paths:
        doc = _load(path)
        version = doc["version"]
        found += flags(doc, _load(reference / f"flags-{version}.json"))
        for name in sorted(set(known[version]) ^ set(doc["variables"])):
            found.append(
                f"{version} variable {name}: only in {'the reference' if name in known[version] else 'our file'}"
            )
        other = reference / f"backend_matrix-{version.rsplit('.', 1)[0]}.json"
        if doc["attention"] is not None and other.is_file():
            found += matrix(doc, _load(other))
    return found
