"""How is plain data written as YAML on one line, so that YAML 1.1 and 1.2 read the same? As a flow mapping, quoted wherever in doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/+()-]*[A-Za-z0-9)]|[A-Za-z]")
_WORDS = frozenset({"yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"})


def flow(data: Any) -> str:
    """The text of scalars, lists and mappings, on one line.

    Raises:
        ValueError: the data holds something else.
    """
    if data is None:
        return "null"
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, int | float):
        return _number(data)
    if isinstance(data, str):
        return _scalar(data)
    if isinstance(data, Mapping):
        return "{" + ", ".join(f"{_scalar(str(k))}: {flow(v)}" for k, v in data.items()) + "}"
    if isinstance(data, Sequence):
        return "[" + ", ".join(flow(item) for item in data) + "]"
    raise ValueError(f"{type(data).__name__} is no plain data")


def _number(value: float) -> str:
    text = repr(value)
    if text in ("nan", "inf", "-inf"):
        raise ValueError(f"{text} is no number that is measured")
    if "e" in text and "." not in text:  # YAML 1.1 takes 1e-05 for a word
        digits, _, power = text.partition("e")
        return f"{digits}.0e{power}"
    return text


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and "  " not in text:
        return text
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(char: str) -> str:
    """One character between double quotes; JSON's pairs of surrogates would be two characters to YAML."""
    if char in '"\\':
        return "\\" + char
    if " " <= char <= "~":
        return char
    return f"\\U{ord(char):08x}" if ord(char) > 0xFFFF else f"\\u{ord(char):04x}"
