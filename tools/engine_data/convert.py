"""Turns a raw dump of vLLM's parser, variables and attention selector into the document that the resolver reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.engine_data.variables import OTHER_VARIABLES

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
    "_compute_kwargs.<locals>.parse_dataclass": "dataclass",
    "parse_type.<locals>._parse_type": "json_value",
    "EngineArgs.add_cli_args.<locals>.<lambda>": "lambda",
    "optional_type.<locals>._optional_type": "optional",
}

DOTTED = frozenset({"dataclass", "json", "json_value", "json_or_str", "optional_json", "optional_json_value", "optional_dataclass"})


def flag_type(raw: Raw) -> str | None:
    """The resolver's name of a flag's type; null where argparse keeps the text. An inner type gives `optional_<inner>`."""
    name = raw["type"]
    if name is None:
        return None
    known = TYPES[name]
    inner = raw.get("inner_type")
    return f"{known}_{TYPES[inner]}" if known == "optional" and inner else known


def flag(raw: Raw) -> dict[str, Any]:
    """One flag of the raw dump as the resolver's flag entry. Raises KeyError on an action or type that has no name here."""
    options: Sequence[str] = raw["options"]
    kind = KINDS[raw["action"]]
    negative = [o for o in options if kind == "bool" and o.startswith("--no-")]
    kind_of = flag_type(raw)
    return {
        "choices": raw["choices"],
        "default": raw["default"],
        "dotted": kind_of in DOTTED,
        "kind": kind,
        "negative": negative,
        "nargs": raw["nargs"],
        "spellings": [o for o in options if o not in negative],
        "type": kind_of,
    }


def attention(raw: Raw) -> dict[str, Any]:
    """The attention table: per capability, cache dtype, block size and causality which backends serve, and why others do not."""
    rows = []
    for row in raw["rows"]:
        explicit: Mapping[str, Sequence[str]] = row["explicit"]
        impl: Mapping[str, str] = row["impl"]
        serves = sorted(b for b, reasons in explicit.items() if not reasons and impl.get(b) == "ok")
        refuses = {b: list(reasons) or [impl[b]] for b, reasons in sorted(explicit.items()) if b not in serves}
        rows.append({
            "auto": row["auto_order"][0] if row["auto"] else None,
            "block_size": row["block_size"],
            "capability": row["capability"],
            "causal": not row["use_non_causal"],
            "kv_cache_dtype": row["kv_cache_dtype"],
            "refuses": refuses,
            "serves": serves,
        })
    return {"assumptions": raw["assumptions"], "dtype": "bfloat16", "head_size": 256, "rows": rows}


def document(flags: Raw, variables: Sequence[str], matrix: Raw | None, source: Raw) -> dict[str, Any]:
    """The whole document of one version. `flags` is the raw parser dump, `matrix` the raw selector dump or None."""
    entries: Mapping[str, Raw] = flags["flags"]
    return {
        "schema": 1,
        "version": flags["version"],
        "source": dict(source),
        "flags": {raw["dest"]: flag(raw) for raw in entries.values() if raw["options"]},
        "positionals": [raw["dest"] for raw in entries.values() if not raw["options"]],
        "variables": sorted(variables),
        "other_variables": sorted(OTHER_VARIABLES),
        "attention": attention(matrix) if matrix else None,
    }
