"""Whether a JSON value fits the schema of one of the engine's configurations (rules/engines, `configs`).

What is said names the place and what may stand there, never the value: it may hold a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_VALIDATORS: dict[int, tuple[Any, Any]] = {}
"""By identity of the schema, which is kept beside its validator so that the identity stays taken."""


def misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    """Why `value` does not fit, as `key.key: reason`; None when it fits."""
    kept = _VALIDATORS.get(id(schema))
    if kept is None:
        import jsonschema  # only here: most launches pass no configuration through

        kept = _VALIDATORS[id(schema)] = (schema, jsonschema.Draft202012Validator(schema))
    error = next(kept[1].iter_errors(value), None)
    return None if error is None else _describe(error)


def _describe(error: Any) -> str:
    told = [e for e in error.context or () if (e.validator, e.validator_value) != ("type", "null")]
    if error.validator == "anyOf" and len(told) == 1:  # something, or null: say what is wrong with the something
        return _describe(told[0])
    where = ".".join(str(part) for part in error.absolute_path)
    rule, wanted = error.validator, error.validator_value
    if rule == "additionalProperties":
        known = error.schema.get("properties", {})
        extra = [str(key) for key in error.instance if key not in known]
        place = ".".join(part for part in (where, extra[0] if extra else "") if part)
        return f"{place} is not a key of it"
    where = where or "the value"
    if rule == "required":
        return f"{where} lacks {', '.join(str(key) for key in wanted if key not in error.instance)}"
    if rule == "enum":
        return f"{where} is not one of {', '.join(map(str, wanted))}"
    if rule == "type":
        return f"{where} is not of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    if rule in ("minItems", "maxItems"):
        return f"{where} has not {wanted} items"
    return f"{where} is none of what it may be"
