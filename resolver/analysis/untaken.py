"""Literals that are rendered into a flag, or a key of its JSON, whose allowed values no known engine has them among."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from resolver.analysis.finding import Finding
from resolver.analysis.model import Model
from resolver.diagnostics import nearest
from resolver.engine import Engine
from resolver.expressions import Const
from resolver.model import Flag, JsonFlag

DEPTH = 8
"""How far references of a configuration's schema are followed."""


def untaken(model: Model) -> Iterator[Finding]:
    """One finding for each row whose literal no engine takes where it is rendered: a misspelt backend, cache type or method."""
    for name, flag, allowed in _rendered(model):
        if not allowed or name not in model.rules.settings:
            continue
        for i, row in enumerate(model.rules.settings[name].rows):
            value = row.value.value if isinstance(row.value, Const) else None
            if not isinstance(value, str) or value in allowed:
                continue
            named = sorted(a for a in allowed if a == a.upper() or a.upper() not in allowed)
            near = nearest(value, named)
            yield Finding(
                "untaken",
                _rule(model, name, i),
                f"{name} is {value!r} here, and no known engine takes that for {flag}",
                row.position,
                f"did you mean {near}?" if near else f"use one of {', '.join(named[:20])}",
            )


def _rule(model: Model, name: str, row: int) -> str:
    """The arm that sets it, or the row of the table."""
    arms = [arm.name for arm in model.rules.arms.values() if name in arm.sets]
    return arms[row] if arms else f"{name}[{row + 1}]"


def _rendered(model: Model) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Each setting that becomes a flag's value or a key of its JSON, with the values that some engine allows there; empty: any."""
    for entry in model.rules.argv:
        if isinstance(entry, Flag) and not entry.bare:
            yield entry.source, entry.flag, _union(_of_flag(engine, entry) for engine in model.engines)
        elif isinstance(entry, JsonFlag):
            for key in entry.keys:
                if key.source and not key.verbatim:
                    said = f"{key.key} of {entry.flag}"
                    yield key.source, said, _union(_of_key(engine, entry, key.key) for engine in model.engines)


def _union(found: Iterator[frozenset[str] | None]) -> frozenset[str]:
    """All that is allowed anywhere. An engine that has no such flag, or takes any text there, says nothing of it."""
    return frozenset().union(*(values for values in found if values))


def _of_flag(engine: Engine, entry: Flag) -> frozenset[str] | None:
    """What the engine allows; None when it has no such flag."""
    dest = engine.reader(entry.flag, entry.abbreviates)
    if dest is None:
        return None
    return frozenset(engine.backends if dest == "attention_backend" else map(str, engine.choices(dest)))


def _of_key(engine: Engine, entry: JsonFlag, key: str) -> frozenset[str] | None:
    dest = engine.reader(entry.flag, entry.abbreviates)
    schema = engine.configs.get(dest or "")
    if schema is None or key not in schema.get("properties", {}):
        return None
    return frozenset(_texts(schema["properties"][key], schema, DEPTH) or ())


def _texts(part: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> set[str] | None:
    """The texts that a part of a schema allows; None when it allows any."""
    if "$ref" in part:
        target = schema.get("$defs", {}).get(str(part["$ref"]).rpartition("/")[2])
        return _texts(target, schema, depth - 1) if target is not None and depth else None
    if "enum" in part:
        return {value for value in part["enum"] if isinstance(value, str)}
    if "anyOf" in part:
        each = [_texts(one, schema, depth) for one in part["anyOf"]]
        return None if None in each else set().union(*(one for one in each if one is not None))
    kind = part.get("type")
    return None if kind in (None, "string") or (isinstance(kind, list) and "string" in kind) else set()
