"""Check the structure of a file against its JSON Schema, with the position of every error."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from resolver import files
from resolver.diagnostics import Diagnostic, Position, RulesError, nearest
from resolver.yaml12 import Document

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


@lru_cache(maxsize=32)
def _validator(schema_file: str) -> Any:
    import jsonschema

    shown = "/".join(Path(schema_file).parts[-3:])
    try:
        schema = json.loads(files.read_text(schema_file))
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)
    except (OSError, ValueError, RecursionError) as error:
        said = f"cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}"
        where = Position(shown, getattr(error, "lineno", 1), getattr(error, "colno", 1))
    except jsonschema.SchemaError as error:
        said, where = f"is no JSON Schema: {str(error.message)[:120]}", Position(shown, 1, 1)
    raise RulesError([Diagnostic("error", "schema", f"{shown} {said}", f"restore {shown} from the repository", where)])


def _kind(data: Any) -> str:
    if isinstance(data, bool):
        return "true or false"
    if data is None:
        return "nothing"
    return {dict: "a mapping", list: "a list", str: "text", int: "a whole number", float: "a number"}.get(
        type(data), "something else"
    )


def _describe(error: Any) -> tuple[str, str | None, str | int | None]:
    """Message, fix, and the key (below the error's own path) that it is about."""
    rule, wanted, got = error.validator, error.validator_value, error.instance
    if rule == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        extra = [k for k in got if k not in known]
        near = nearest(str(extra[0]), known)
        return (
            f"unknown key {extra[0]!r}",
            f"did you mean {near!r}?" if near else f"known keys: {', '.join(sorted(known))}",
            extra[0],
        )
    if rule == "required":
        missing = [k for k in wanted if k not in got]
        return f"missing key {missing[0]!r}", f"add `{missing[0]}:`", None
    if rule == "type":
        types = wanted if isinstance(wanted, list) else [wanted]
        asked = " or ".join(_TYPES.get(str(t), str(t)) for t in types)
        return f"expected {asked}, found {_kind(got)}", f"write {asked}", None
    if rule == "enum":
        near = nearest(str(got), [str(w) for w in wanted])
        return (
            f"{got!r} is not one of {', '.join(map(str, wanted))}",
            f"did you mean {near!r}?" if near else "use one of them",
            None,
        )
    if rule == "minItems":
        return "an empty list", "add an entry, or remove the key", None
    if rule == "minProperties":
        return "an empty mapping", "add an entry, or remove the key", None
    if "propertyNames" in error.relative_schema_path:
        return f"{got!r} is not a good name here", "use small letters, digits and `_` or `-`", None
    if rule == "pattern":
        return (
            f"{got!r} does not look as it must",
            error.schema.get("description") or "compare with the other entries",
            None,
        )
    if rule in ("oneOf", "anyOf"):
        keys = [str(k) for branch in wanted for k in branch.get("required", ())]
        return f"needs exactly one of {', '.join(keys)}" if keys else f"{error.message[:120]}", "keep one of them", None
    return str(error.message)[:200], "compare with the other entries", None


def validate(document: Document, schema: Path) -> None:
    """Raises RulesError with one diagnostic for each place that the schema does not allow."""
    validator = _validator(str(schema))
    out: list[Diagnostic] = []
    for error in sorted(validator.iter_errors(document.data), key=lambda e: [str(p) for p in e.absolute_path]):
        path = tuple(error.absolute_path)
        message, fix, key = _describe(error)
        where = document.position((*path, key), key=True) if key is not None else document.position(path)
        if "propertyNames" in error.relative_schema_path:
            where = document.position((*path, error.instance), key=True)
        shown = ".".join(str(p) for p in path)
        out.append(Diagnostic("error", "schema", f"{shown}: {message}" if shown else message, fix, where))
    if out:
        raise RulesError(out)
