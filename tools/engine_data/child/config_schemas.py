"""JSON Schemas of the engine's configurations: what may stand in the JSON of `--compilation-config` and its like."""

from __future__ import annotations

import dataclasses
import enum
import json
import typing
from collections.abc import Collection
from typing import Any

from tools.engine_data.child.loading import load
from tools.engine_data.child.plain import plain

TALK = ("title", "description", "default", "examples")
NAMED = ("properties", "$defs", "patternProperties")


def dataclass_in(hint: Any) -> Any:
    """The dataclass that a type hint holds, alone or in a union; None where it holds none."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    return next((found for arg in typing.get_args(hint) if (found := dataclass_in(arg)) is not None), None)


def classes() -> dict[str, Any]:
    """The configuration class behind each `..._config` field of the engine's configuration, nested ones included."""
    found: dict[str, Any] = {}
    holders = [load("vllm.config").VllmConfig]
    while holders:
        for name, hint in typing.get_type_hints(holders.pop()).items():
            held = dataclass_in(hint)
            if held is not None and name not in found:
                found[name] = held
                holders.append(held)
    return found


def bare(schema: Any) -> Any:
    """The schema without titles, descriptions and defaults; names of properties are never taken for these."""
    if isinstance(schema, list):
        return [bare(part) for part in schema]
    if not isinstance(schema, dict):
        return plain(schema)
    return {
        key: {name: bare(part) for name, part in value.items()} if key in NAMED else bare(value)
        for key, value in schema.items()
        if key not in TALK
    }


def enum_in(hint: Any) -> Any:
    """The enum that a type hint holds, alone or in a union; None where it holds none."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    return next((found for arg in typing.get_args(hint) if (found := enum_in(arg)) is not None), None)


def takes(adapter: Any, name: str, value: str) -> bool:
    """Whether the engine's own validation has nothing against `value` in this field (it may miss other fields)."""
    refused: Any = load("pydantic").ValidationError
    try:
        adapter.validate_json(json.dumps({name: value}))
    except refused as error:
        return all(problem["loc"][:1] != (name,) for problem in error.errors())
    except KeyError:  # the engine looks some enums up without a check and then dies of this
        return False
    return True


def with_names(held: Any, adapter: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, where a field that holds an enum also lists the member names that validation takes, found by trying."""
    hints = typing.get_type_hints(held)
    for name, part in schema.get("properties", {}).items():
        members = enum_in(hints.get(name))
        if members is None or takes(adapter, name, "no such member"):
            continue
        names = [
            text for member in members for text in (member.name, member.name.lower()) if takes(adapter, name, text)
        ]
        if names:
            schema["properties"][name] = {"anyOf": [part, {"enum": sorted(set(names))}]}
    return schema


def without_private(schema: dict[str, Any], held: Any, by_name: dict[str, Any]) -> dict[str, Any]:
    """The schema without fields that the class fills itself: pydantic describes them, and refuses them as unknown keys."""
    for part, owner in [(schema, held), *((d, by_name.get(n)) for n, d in schema.get("$defs", {}).items())]:
        if owner is not None and "properties" in part:
            private = {field.name for field in dataclasses.fields(owner) if not field.init}
            part["properties"] = {name: value for name, value in part["properties"].items() if name not in private}
    return schema


def config_schemas(wanted: Collection[str]) -> dict[str, Any]:
    """A schema for each wanted flag whose JSON the engine validates with a dataclass; parts that only code checks are `{}`."""
    adapter = load("pydantic").TypeAdapter
    generator: Any = load("pydantic.json_schema").GenerateJsonSchema

    class Lenient(generator):  # type: ignore[misc]
        """Takes what has no schema for "anything"."""

        def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
            return {}

    held_by = classes()
    by_name = {held.__name__: held for held in held_by.values()}
    found: dict[str, Any] = {}
    for name, held in sorted(held_by.items()):
        if name in wanted:
            validator = adapter(held)
            schema = bare(validator.json_schema(schema_generator=Lenient, mode="validation"))
            found[name] = with_names(held, validator, without_private(schema, held, by_name))
    return found
