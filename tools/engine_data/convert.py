"""Turns raw dumps of vLLM's parser, variables and attention selector into the document that the resolver reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.engine_data.variables import OTHER_VARIABLES

UNKNOWN = "undetermined"
Raw = Mapping[str, Any]

KINDS: Mapping[str, str] = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "BooleanOptionalAction": "bool",
    "EnableDisableAction": "bool",
    "_AppendAction": "append",
    "_CountAction": "count",
    "_HelpAction": "help",
    "_VersionAction": "version",
    "LoRAParserAction": "store",
    "DeprecatedLogConfigFileAction": "store",
}

TYPES: Mapping[str, str] = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "loads": "json",
    "union_dict_and_str": "json_or_str",
    "human_readable_int": "human_int",
    "human_readable_int_or_auto": "human_int_or_auto",
    "parse_reasoning_parser": "str",
    "parse_dataclass": "dataclass",
    "id_list": "id_list",
    "lower_underscore": "lower_underscore",
}

DOTTED = frozenset({"dataclass", "json", "json_or_str"})


def flag_type(chain: Sequence[str]) -> str | None:
    """The resolver's name of a flag's type; null where argparse keeps the text.

    `chain` names the type functions from the outside in. "optional" gives `optional_<type>`: '' and None mean null there.
    Raises KeyError on a function that has no name here, so that a new version cannot slip in an unknown type.
    """
    if not chain:
        return None
    name = TYPES[next(link for link in chain if link not in ("optional", "parse"))]
    return f"optional_{name}" if chain[0] == "optional" else name


def flag(raw: Raw) -> dict[str, Any]:
    """One flag of the raw dump as the resolver's flag entry. Raises KeyError on an action or type that has no name here."""
    kind = KINDS[raw["action"]]
    negative = list(raw["negative"]) if kind == "bool" else []
    name = "lora_module" if raw["action"] == "LoRAParserAction" else flag_type(raw["type"])
    return {
        "choices": raw["choices"],
        "const": raw["const"],
        "default": raw["default"],
        "dotted": name is not None and name.removeprefix("optional_") in DOTTED,
        "kind": kind,
        "negative": sorted(negative),
        "nargs": raw["nargs"],
        "spellings": [option for option in raw["options"] if option not in negative],
        "type": name,
    }


def attention(raw: Raw) -> dict[str, Any]:
    """The attention table: per capability, cache dtype, block size and causality which backends serve, and why others do not.

    Every backend is in exactly one of `serves`, `refuses` (with its reasons) and `unknown` (with what would be needed to know).
    """
    rows = []
    for row in raw["rows"]:
        explicit: Mapping[str, Sequence[str]] = row["explicit"]
        impl: Mapping[str, str] = row["impl"]
        serves = sorted(backend for backend, reasons in explicit.items() if not reasons and impl.get(backend) == "ok")
        unknown = {backend: text for backend, text in sorted(impl.items()) if text.startswith(UNKNOWN)}
        refuses = {
            b: list(reasons) or [impl[b]]
            for b, reasons in sorted(explicit.items())
            if b not in serves and b not in unknown
        }
        key = {name: row[name] for name in ("capability", "kv_cache_dtype", "block_size", "causal")}
        rows.append(key | {"auto": row["auto"], "refuses": refuses, "serves": serves, "unknown": unknown})
    rows.sort(
        key=lambda r: (*map(int, r["capability"].split(".")), r["kv_cache_dtype"], r["block_size"] or 0, r["causal"])
    )
    return {name: raw[name] for name in ("assumptions", "dtype", "head_size")} | {"rows": rows}


def document(dump: Raw, matrix: Raw | None, source: Raw, parsers: Mapping[str, list[str]]) -> dict[str, Any]:
    """The whole document of one version. `dump` is the raw parser dump, `matrix` the raw selector dump or None, `parsers` names by flag."""
    flags: Mapping[str, Raw] = dump["flags"]
    return {
        "schema": 1,
        "version": dump["version"],
        "source": dict(source) | {"parser_module": dump["cli_module"], "abbreviations": dump["allow_abbrev"]},
        "flags": {dest: flag(raw) for dest, raw in flags.items() if raw["options"]},
        "positionals": [dest for dest, raw in flags.items() if not raw["options"]],
        "configs": dict(dump["configs"]),
        "variables": sorted(dump["variables"]),
        "other_variables": sorted(OTHER_VARIABLES),
        "parsers": dict(parsers),
        "attention": attention(matrix) if matrix else None,
    }
