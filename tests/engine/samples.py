"""Values that a flag of a given type takes, and values that it refuses, by what the engine data says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TAKES: Mapping[str, str] = {
    "int": "1",
    "float": "0.5",
    "str": "x",
    "human_int": "64k",
    "human_int_or_auto": "auto",
    "json": "{}",
    "json_or_str": "x",
    "dataclass": "{}",
    "id_list": "0,1",
    "lower_underscore": "x",
    "lora_module": "a=b",
}
REFUSES: Mapping[str, str] = {
    "int": "64k",
    "float": "auto",
    "human_int": "4GiB",
    "human_int_or_auto": "4GiB",
    "json": "{",
    "json_or_str": "{x}",
    "dataclass": "{",
    "lora_module": "a",
}
NO_SAMPLE = frozenset(
    {"config", "help", "model"}
)  # reads a file; ends the program; is moved in front as the positional


def words(flag: Mapping[str, Any], value: str | None) -> list[str]:
    """The flag with one value in the `=` form, or bare."""
    spelling: str = flag["spellings"][0]
    return [spelling] if value is None else [f"{spelling}={value}"]


def accepted(flag: Mapping[str, Any]) -> Iterator[list[str]]:
    """Command lines that the data says are read: every spelling, every choice, null where the type is optional."""
    kind = (flag["type"] or "str").removeprefix("optional_")
    if flag["nargs"] == 0:
        yield from ([s] for s in (*flag["spellings"], *flag["negative"]))
        return
    optional = (flag["type"] or "").startswith("optional_")
    value = "" if optional and kind == "dataclass" else next((str(c) for c in flag["choices"] or ()), TAKES[kind])
    yield from ([f"{s}={value}"] for s in flag["spellings"])
    yield from ([s, value] for s in flag["spellings"])
    yield from (words(flag, str(choice)) for choice in flag["choices"] or () if not (optional and choice == "None"))
    if optional and (flag["choices"] is None or None in flag["choices"]):
        yield words(flag, "None")
    if flag["nargs"] == "?":
        yield words(flag, None)
    if flag["nargs"] == "+":
        yield [flag["spellings"][0], value, value]


def refused(flag: Mapping[str, Any]) -> Iterator[list[str]]:
    """Command lines that the data says are refused: no value, a wrong type, no such choice, a value where none goes."""
    kind = (flag["type"] or "str").removeprefix("optional_")
    if flag["nargs"] == 0:
        yield words(flag, "x")
        return
    if flag["nargs"] != "?":
        yield words(flag, None)
    if flag["nargs"] is None:
        yield [flag["spellings"][0], "1", "one-too-many"]
    if kind in REFUSES:
        yield words(flag, REFUSES[kind])
    if flag["choices"]:
        yield words(flag, "no-such-choice")
        if (flag["type"] or "").startswith("optional_") and None not in flag["choices"]:
            yield words(
                flag, "None"
            )  # becomes null before the choices are looked at; up to 0.30 they hold the text only
    if kind in ("int", "float", "json") and not (flag["type"] or "").startswith("optional_"):
        yield words(flag, "None")
