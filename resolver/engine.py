"""One engine: the flags, choices, variables and attention support of a vLLM version and of the overlays on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from resolver import files
from resolver.diagnostics import Diagnostic, Position, RulesError, UsageError, nearest
from resolver.engine_refusals import Refusal, read_refusals

DEFAULT_VERSION = "0.31.0"
_INT_TYPES = frozenset({"int", "optional_int", "human_int", "optional_human_int", "human_int_or_auto"})


class Attention(NamedTuple):
    """One row of backend support: `serves` are the backends that run it, `refuses` why others do not.

    `unknown` are those that the data cannot judge.
    """

    capability: str
    kv_cache_dtype: str
    block_size: int | None
    causal: bool
    serves: tuple[str, ...]
    auto: str | None
    refuses: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Engine:
    """What the engine reads. `brought_by` names the overlay behind a choice or variable that stock vLLM does not have;
    `refusals` are what the backends of plugins say of themselves."""

    name: str
    version: str
    overlays: tuple[str, ...]
    flags: Mapping[str, Mapping[str, Any]]
    variables: frozenset[str]
    attention: tuple[Attention, ...] | None
    brought_by: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = ()
    parsers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def spellings(self) -> dict[str, str]:
        """Every spelling of every flag, and its destination."""
        return {s: dest for dest, info in self.flags.items() for s in (*info["spellings"], *info["negative"])}

    def destination(self, flag: str) -> str | None:
        """The destination that the engine's parser finds for a flag: an exact spelling, or a unique abbreviation."""
        if flag in self.spellings:
            return self.spellings[flag]
        found = [dest for spelling, dest in self.spellings.items() if spelling.startswith(flag)]
        return found[0] if len(found) == 1 else None

    def reader(self, flag: str, abbreviates: str | None = None) -> str | None:
        """The destination that reads a flag of the launcher's own.

        The spelling must be exact, unless the launcher says which destination it abbreviates: a flag that is gone may be
        the start of another one's name.
        """
        if abbreviates is None:
            return self.spellings.get(flag)
        return abbreviates if self.destination(flag) == abbreviates else None

    def choices(self, destination: str) -> tuple[str, ...]:
        """The values a flag allows; empty when it allows any text, or is not there."""
        info = self.flags.get(destination)
        return tuple(info["choices"] or ()) if info else ()

    @cached_property
    def backends(self) -> tuple[str, ...]:
        """The names of the attention backends that the engine has, whatever GPU they need; empty when the data does not say."""
        field = self.configs.get("attention_config", {}).get("properties", {}).get("backend", {})
        return tuple(name for part in field.get("anyOf", ()) for name in part.get("enum", ()))

    def is_int(self, destination: str) -> bool:
        return self.flags.get(destination, {}).get("type") in _INT_TYPES

    @cached_property
    def _support(self) -> dict[tuple[str, str, bool], list[Attention]]:
        found: dict[tuple[str, str, bool], list[Attention]] = {}
        for r in self.attention or ():
            found.setdefault((r.capability, r.kv_cache_dtype, r.causal), []).append(r)
        return found

    def support(self, capability: str, kv_cache_dtype: str, block_size: int | None, causal: bool) -> list[Attention]:
        """The rows that speak of one case; stock rows first, overlays after."""
        exact = self._support.get((capability, kv_cache_dtype, causal), [])
        sized = [r for r in exact if r.block_size == block_size]
        return sized or [r for r in exact if r.block_size is None]


def versions(root: Path) -> list[str]:
    """The engine versions that the product knows, oldest first."""
    found = [p.stem.removeprefix("vllm-") for p in (root / "rules" / "engines").glob("vllm-*.json")]
    return sorted(found, key=lambda v: [int(part) for part in v.split(".") if part.isdigit()])


def overlays(root: Path) -> list[str]:
    """The overlays that the product knows."""
    return sorted(p.stem for p in (root / "rules" / "engines" / "overlays").glob("*.yaml"))


def engine_files(root: Path, name: str) -> list[Path]:
    """The data files behind `VERSION[+overlay…]`. Raises UsageError when one is not known."""
    version, *extra = name.split("+")
    known = versions(root)
    if version not in known:
        raise UsageError(f"engine {version!r} is not known", f"use one of the known versions: {', '.join(known)}")
    for overlay in extra:
        if overlay not in overlays(root):
            near = nearest(overlay, overlays(root))
            raise UsageError(
                f"overlay {overlay!r} is not known",
                f"did you mean {near!r}?" if near else f"use one of the known overlays: {', '.join(overlays(root))}",
            )
    folder = root / "rules" / "engines"
    return [folder / f"vllm-{version}.json", *(folder / "overlays" / f"{overlay}.yaml" for overlay in extra)]


_PARTS = {"version": str, "flags": dict, "variables": list, "other_variables": list}


def read_engine_file(root: Path, path: Path) -> dict[str, Any]:
    """The data of one version. Raises RulesError when the file cannot be read or lacks a part."""
    line = column = 1
    try:
        data = json.loads(files.read_text(path))
        wrong = [k for k, kind in _PARTS.items() if not isinstance(data, dict) or not isinstance(data.get(k), kind)]
        said = f"cannot be used: {', '.join(wrong)} missing or of the wrong kind" if wrong else None
    except (OSError, ValueError, RecursionError) as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        said = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if said:
        shown = str(path.relative_to(root))
        fix = "make it again with tools/engine_data"
        raise RulesError([Diagnostic("error", "engine", f"{shown} {said}", fix, Position(shown, line, column))])
    found: dict[str, Any] = data
    return found


def load_engine(root: Path, name: str) -> Engine:
    """Read `VERSION[+overlay…]`. Raises UsageError for an unknown name, RulesError for a broken file."""
    base, *extra = engine_files(root, name)
    data = read_engine_file(root, base)
    flags: dict[str, dict[str, Any]] = {dest: dict(info) for dest, info in data["flags"].items()}
    variables = {*data["variables"], *data["other_variables"]}
    table = data.get("attention")
    rows = None if table is None else [_row(r) for r in table["rows"]]
    brought: dict[str, str] = {}
    refusals: list[Refusal] = []
    for path in extra:
        refusals += _lay(root, path, data["version"], flags, variables, rows, brought)
    return Engine(
        name,
        data["version"],
        tuple(name.split("+")[1:]),
        flags,
        frozenset(variables),
        None if rows is None else tuple(rows),
        brought,
        data["configs"],
        tuple(refusals),
        {flag: tuple(names) for flag, names in data.get("parsers", {}).items()},
    )


def _row(r: Mapping[str, Any]) -> Attention:
    refuses = {backend: tuple(why) for backend, why in r["refuses"].items()}
    place = (r["capability"], r["kv_cache_dtype"], r["block_size"], r["causal"])
    return Attention(*place, tuple(r["serves"]), r["auto"], refuses, tuple(r.get("unknown", ())))


def _lay(
    root: Path,
    path: Path,
    version: str,
    flags: dict[str, dict[str, Any]],
    variables: set[str],
    rows: list[Attention] | None,
    brought: dict[str, str],
) -> list[Refusal]:
    """Lay an overlay over what stock vLLM has; returns what its backends refuse."""
    from resolver.load import schema
    from resolver.yaml12 import read

    document = read(path, str(path.relative_to(root)))
    schema.validate(document, root / "rules" / "schema" / "overlay.json")
    data = document.data
    if version not in data["engine"]:
        raise UsageError(
            f"overlay {data['overlay']} is for vLLM {', '.join(data['engine'])}, not {version}",
            "choose another version, or leave the overlay out",
        )
    brings = data["brings"]
    for dest, choices in brings.get("choices", {}).items():
        if dest not in flags:
            near = nearest(dest, list(flags))
            fix = f"did you mean {near!r}?" if near else f"name a flag of vLLM {version} as its data file does"
            where = document.position(("brings", "choices", dest), key=True)
            raise RulesError([Diagnostic("error", "overlay", f"vLLM {version} has no flag {dest!r}", fix, where)])
        info = flags[dest]
        info["choices"] = sorted({*(info["choices"] or ()), *choices})
        brought |= {f"{dest}={choice}": data["overlay"] for choice in choices}
    for variable in brings.get("variables", {}):
        variables.add(variable)
        brought[variable] = data["overlay"]
    refusals = read_refusals(document)
    if rows is None:
        return refusals
    for item in brings.get("attention", ()):
        for capability in item["capability"]:
            for causal in item["causal"]:
                rows.append(
                    Attention(
                        capability,
                        item["kv_cache_dtype"],
                        None,
                        causal,
                        (item["backend"],),
                        item["backend"] if item.get("auto") else None,
                        {},
                    )
                )
    return refusals
