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
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")')
_SIZED = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
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


def sized_int(text: str) -> int | None:
    """What a number with a unit (`64k`) says; None for every other text, plain digits included."""
    try:
        return human_int(text) if _HUMAN.match(text.strip()) else None
    except (ValueError, OverflowError):
        return None


def human_int_or_auto(text: str) -> int:
    return -1 if text.strip().lower() == "auto" else human_int(text)


def json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_or_text(text: str) -> Any:
    return json_value(text) if _JSON_OBJECT.match(text) else text


def _expand(text: str) -> str:
    """Bare `1k`, `80g` outside quotes become numbers, in configurations only."""
    parts = _QUOTED.split(text)
    parts[::2] = [_SIZED.sub(lambda m: str(human_int(m.group())), part) for part in parts[::2]]
    return "".join(parts)


def lora_module(text: str) -> Any:
    """`name=path`, or a JSON object with a name and a path."""
    if text == "" or ("=" in text and "," not in text):
        return text
    found = json_value(text)
    if not isinstance(found, dict) or not {"name", "path"} <= set(found):
        raise ValueError("no name and path")
    if set(found) - {"name", "path", "base_model_name", "is_3d_lora_weight"}:
        raise ValueError("unknown field")
    return found


def configuration(text: str) -> Any:
    found = json_value(_expand(text))
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def lower_underscore(text: str) -> str:
    return text.lower().replace("-", "_")


_BASE: dict[str, Callable[[str], Any]] = {
    "int": whole,
    "float": float,
    "human_int": human_int,
    "human_int_or_auto": human_int_or_auto,
    "json": json_value,
    "json_or_str": json_or_text,
    "dataclass": configuration,
    "lora_module": lora_module,
    "lower_underscore": lower_underscore,
}


def converter(type_name: str | None) -> Callable[[str], Any]:
    """The converter of a type; a type this module does not know accepts any text."""
    if type_name and type_name.startswith("optional_"):
        inner = _BASE.get(type_name.removeprefix("optional_"), str)
        return lambda text: None if text in ("", "None") else inner(text)
    return _BASE.get(type_name or "", str)
