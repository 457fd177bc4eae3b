"""JSON Schemas for editors, made from the rules themselves: they complete and check the names of knobs, settings, facts, profiles and
machines, and the values of knobs. `python -m tools.editor_schemas` writes rules/schema/editor/, `--check` only compares.

The schemas in rules/schema/ say what a file must look like and do not know any name; these are the same with the names put in.
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

from resolver.coercions import READINGS
from resolver.compile import open_resolver
from resolver.conditions import STATES
from resolver.machines import names as machine_names
from resolver.model import Knob
from resolver.names import FILE_PARTS
from resolver.resolve import Resolver

FILES = ("subject", "profiles")
Data = dict[str, Any]
SCALAR = ["string", "integer", "boolean", "number", "null"]


def knob_value(knob: Knob) -> Data:
    """What may stand for a knob in a profile or example."""
    out: Data = {"description": f"{knob.env}: {knob.help}"}
    if knob.allowed:
        return out | {"anyOf": [{"enum": list(knob.allowed)}, {"enum": ["", "unset", None]}]}
    if knob.type in ("switch", "zero_one"):
        return out | {"anyOf": [{"enum": ["0", "1", 0, 1, "on", "off"]}, {"type": SCALAR}]}
    return out | {"type": SCALAR}


COMPARED: Data = {"type": "string", "pattern": "^(<=|>=|<|>) "}
NEGATED: Data = {"type": "object", "properties": {"not": {}}, "required": ["not"], "additionalProperties": False}
SHARED: Data = {
    "compared": COMPARED,
    "negated": NEGATED,
    "value": {
        "anyOf": [
            {"type": ["string", "integer", "boolean"]},
            {"type": "array", "minItems": 1},
            {"$ref": "#/$defs/negated"},
        ]
    },
}
"""What many names share."""


def tested(description: str, values: list[Any] | None) -> Data:
    """What may stand for a name in a condition: values that complete, comparisons, lists and `{not: ...}`."""
    if not values:
        return {"description": description, "$ref": "#/$defs/value"}
    plain: list[Data] = [{"enum": values}, {"$ref": "#/$defs/compared"}]
    many: Data = {"type": "array", "minItems": 1, "items": {"anyOf": [*plain, {"$ref": "#/$defs/negated"}]}}
    return {"description": description, "anyOf": [*plain, many, {"$ref": "#/$defs/negated"}]}


def condition(resolver: Resolver) -> Data:
    """A condition: every name that may be tested, with its values."""
    rules = resolver.rules
    names: Data = {}
    for knob in rules.knobs.values():
        words = [*knob.allowed] if knob.allowed else ["on", "off"] if knob.type in ("switch", "zero_one") else None
        names[knob.name] = tested(f"knob {knob.env}: {knob.help}", [*words, *STATES, "unknown"] if words else None)
    for setting in rules.settings.values():
        names[setting.name] = tested(f"setting: {setting.help or 'computed'}", None)
    for fact in rules.facts.values():
        names[fact.name] = tested(f"fact: {fact.help}", [True, False, "unknown"] if fact.type == "bool" else None)
    names["arm"] = tested("the arm that is taken", [*rules.arms, "unknown"])
    names["extra.flags"] = tested("engine flags that the user typed", sorted(resolver.scope.flags))
    names["extra.shadowed"] = tested(
        "engine flags that the user typed and the launcher sets", sorted(resolver.scope.flags)
    )
    inner = {"$ref": "#/$defs/condition"}
    names |= {"not": inner, "any": {"type": "array", "items": inner}, "all": {"type": "array", "items": inner}}
    rest: Data = {"type": ["string", "integer", "boolean", "array", "object"]}
    patterns = {
        r"^extra\.(last|any)\.[a-z0-9_]+$": rest,
        r"^engine\.choices\.[a-z0-9_]+$": rest,
        rf"^file\.[a-z0-9_]+\.({'|'.join(FILE_PARTS)})$": rest,
        rf"^[a-z0-9_]+\.({'|'.join(READINGS)})$": rest,
    }
    return {"type": "object", "properties": names, "patternProperties": patterns, "additionalProperties": False}


def example(resolver: Resolver, schema: Data) -> Data:
    """An example: profiles and machines by name, and every knob."""
    out = deepcopy(schema)
    out["properties"]["profile"] = {"enum": list(resolver.rules.profiles)}
    out["properties"]["machine"] = {"enum": machine_names(resolver.root)}
    out["properties"]["knobs"] = {"$ref": "#/$defs/knobs"}
    out["properties"] |= {name: {"$ref": f"#/$defs/knobs/properties/{name}"} for name in resolver.rules.knobs}
    out["additionalProperties"] = False
    return out


def rework(resolver: Resolver, node: Any, key: str = "") -> Any:
    """The schema with conditions, examples and mappings of knobs replaced by what knows the names."""
    if isinstance(node, list):
        return [rework(resolver, item) for item in node]
    if not isinstance(node, dict):
        return node
    said = str(node.get("description", ""))
    if said.startswith("a condition:"):
        return {"$ref": "#/$defs/condition"}
    if said.startswith("a request:"):
        return example(resolver, node)
    if key == "knobs" and node.get("type") == "object" and "additionalProperties" in node:
        return {"$ref": "#/$defs/knobs"}
    return {k: rework(resolver, v, k) for k, v in node.items()}


def schemas(resolver: Resolver) -> dict[str, Data]:
    """The schemas by file name."""
    folder = resolver.root / "rules" / "schema"
    knobs = {
        "type": "object",
        "properties": {k.name: knob_value(k) for k in resolver.rules.knobs.values()},
        "additionalProperties": False,
    }
    out = {}
    for name in FILES:
        schema = rework(resolver, json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
        schema["$comment"] = "made by tools/editor_schemas.py from the rules; not written by hand"
        schema["$defs"] = {**schema.get("$defs", {}), **SHARED, "condition": condition(resolver), "knobs": knobs}
        out[f"{name}.json"] = schema
    return out


def texts(resolver: Resolver) -> dict[Path, str]:
    """The files and what must stand in them."""
    folder = resolver.root / "rules" / "schema" / "editor"
    return {
        folder / name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for name, schema in schemas(resolver).items()
    }


def main(words: list[str]) -> int:
    """Write the schemas; with --check say which are not as they must be, exit status 1."""
    stale = []
    for path, text in texts(open_resolver()).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if "--check" not in words:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'not up to date' if '--check' in words else 'written'}: {', '.join(stale)}")
    return 1 if stale and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
