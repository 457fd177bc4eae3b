"""How vLLM's parser converts the text of a flag; each converter raises ValueError as the engine would refuse.

Found by experiment with the parser of vLLM 0.31.0; see rules/engines/ for which flag has which type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])\Z")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_JSON_OBJECT = re.compile(r"(?s)\s*\{.*\}\s*\Z")


def whole(text: str) -> int:
    if len(text) > 40:
        raise ValueError("too long")
    return int(text)


def human_int(text: str) -> int:
    """`64k` is 64,000 and `64K` 65,536; a fraction goes with small letters only."""
    match = _HUMAN.match(text.strip())
    if not match:
        return whole(text)
    digits, unit = match.groups()
    if unit in _BINARY:
        return int(digits) * _BINARY[unit]
    if len(digits) > 40:
        raise ValueError("too long")
    return int(float(digits) * _DECIMAL[unit])


def human_int_or_auto(text: str) -> int:
    return -1 if text.strip().lower() == "auto" else human_int(text)


def json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_or_null(text: str) -> Any:
    return None if text in ("", "None") else json_value(text)


def json_or_text(text: str) -> Any:
    return json_value(text) if _JSON_OBJECT.match(text) else text


def mapping(text: str) -> Any:
    found = json_value(text)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def _lower_underscore(text: str) -> str:
    return text.lower().replace("-", "_")


_BASE: dict[str, Callable[[str], Any]] = {
    "int": whole,
    "float": float,
    "human_int": human_int,
    "human_int_or_auto": human_int_or_auto,
    "json": json_or_null,
    "json_value": json_or_null,
    "json_or_str": json_or_text,
    "dataclass": mapping,
    "lower_underscore": _lower_underscore,
}


def converter(type_name: str | None) -> Callable[[str], Any]:
    """The converter of a type; a type this module does not know accepts any text."""
    if type_name and type_name.startswith("optional_"):
        inner = _BASE.get(type_name.removeprefix("optional_"), str)
        return lambda text: None if text in ("", "None") else inner(text)
    return _BASE.get(type_name or "", str)
