"""Machines by name (rules/machines/), by file, or as inline data: checked, cached, never probed here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from resolver.compile import cache
from resolver.diagnostics import Diagnostic, RulesError, UsageError, nearest
from resolver.facts import Machine, flatten, machine_from

ALLOWED = ("machine", "facts", "engine", "files")


def names(root: Path) -> list[str]:
    """The machines that ship with the product."""
    return sorted(p.stem for p in (root / "rules" / "machines").glob("*.yaml"))


def is_file_name(name: str) -> bool:
    """Whether a word names a machine file, and no machine of rules/machines/: `launch.py machines this --json` writes JSON."""
    return "/" in name or name.endswith((".yaml", ".yml", ".json"))


def load_machine(root: Path, name: str) -> Machine:
    """A machine by name, or from a file when `name` looks like a path. Raises UsageError or RulesError."""
    looks_like_path = is_file_name(name)
    path = Path(name) if looks_like_path else root / "rules" / "machines" / f"{name}.yaml"
    if not looks_like_path and name not in names(root):
        near = nearest(name, names(root))
        raise UsageError(
            f"there is no machine {name!r}",
            f"did you mean {near}?"
            if near
            else f"use one of {', '.join(names(root))}, or give a file"
            if names(root)
            else "give a machine file",
        )
    document = _read(root, path, str(path) if looks_like_path else f"rules/machines/{name}.yaml", _stamp(path))
    return machine_from(document, path.stem, str(path), str(root))


def _stamp(path: Path) -> tuple[int, int]:
    """Changes when the file does."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read(root: Path, path: Path, shown: str, stamp: tuple[int, int]) -> Mapping[str, Any]:
    schema_file = root / "rules" / "schema" / "machine.json"
    entry = f"machine-{cache.digest([path, schema_file])}"
    found = cache.load(entry)
    if isinstance(found, dict):
        return found
    from resolver.load import schema
    from resolver.yaml12 import read

    document = read(path, shown)
    schema.validate(document, schema_file)
    cache.store(entry, document.data)
    data: Mapping[str, Any] = document.data
    return data


def inline_machine(root: Path, data: Mapping[str, Any], where: str) -> Machine:
    """A machine given as data in a request. Raises RulesError when it does not follow the schema of machine files."""
    from resolver.load import schema
    from resolver.yaml12 import Document

    document = Document(where, {"machine": {"title": where, "source": where}, **data}, None)
    schema.validate(document, root / "rules" / "schema" / "machine.json")
    return machine_from(document.data, "inline", where, str(root))


def with_facts(root: Path, machine: Machine, changes: Mapping[str, Any]) -> Machine:
    """The machine with some facts (nested or dotted) and files changed; null makes a fact unknown."""
    from resolver.facts import FileInfo, ListedFiles

    facts = dict(machine.facts)
    plain = {k: v for k, v in changes.items() if k != "files"}
    for name, value in _with_nulls(plain):
        if value is None:
            facts.pop(name, None)
        else:
            facts[name] = value
    files = machine.files
    if "files" in changes and isinstance(files, ListedFiles):
        listed = {p: FileInfo(i.get("kind"), i.get("bytes"), i.get("longest")) for p, i in changes["files"].items()}
        files = ListedFiles({**files.files, **listed}, files.root)
    return Machine(machine.name, facts, machine.engine, files, machine.source)


def _with_nulls(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            out += _with_nulls(value, f"{prefix}{key}.")
        elif value is None:
            out.append((f"{prefix}{key}", None))
        else:
            out += list(flatten({key: value}, prefix))
    return out


def unknown_machine(root: Path) -> Machine:
    """A machine of which nothing is known."""
    return Machine("unknown", {}, None, source="nothing is known", files=machine_from({}, "", "").files)


__all__ = ["Diagnostic", "RulesError", "inline_machine", "load_machine", "names", "unknown_machine", "with_facts"]
