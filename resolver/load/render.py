"""Read rules/render.yaml: what each setting becomes, in argv order, and what becomes of each variable."""

from __future__ import annotations

from typing import Any

from resolver.conditions import Path
from resolver.load.collect import Collector, words
from resolver.model import Entry, Flag, JsonFlag, JsonKey, UserWords, Variable, Words
from resolver.yaml12 import Document


def read_argv(document: Document, collect: Collector) -> tuple[Entry, ...]:
    """The entries of `argv`, in order."""
    out: list[Entry] = []
    for i, item in enumerate(document.data["argv"]):
        entry = _entry(document, item, ("argv", i), collect)
        if entry:
            out.append(entry)
    return tuple(out)


def _entry(document: Document, item: dict[str, Any], path: Path, collect: Collector) -> Entry | None:
    position = document.position(path)
    if "words" in item:
        return Words(
            tuple(collect.expression(document, w, (*path, "words", k)) for k, w in enumerate(item["words"])), position
        )
    if "user_words" in item:
        return UserWords(position)
    if "json" in item:
        return JsonFlag(
            item["json"], tuple(_json_key(k, v) for k, v in item["keys"].items()), position, item.get("gate")
        )
    if "flag" in item and "value" in item:
        return Flag(
            item["flag"],
            item["value"],
            position,
            joined=bool(item.get("joined", False)),
            abbreviates=item.get("abbreviates"),
        )
    if "flag" in item and "on" in item:
        return Flag(item["flag"], item["on"], position, off=item.get("off"), bare=True)
    collect.fail("render", "an entry is one of words, flag with value, flag with on, json, user_words", position)
    return None


def _json_key(key: str, data: str | dict[str, Any]) -> JsonKey:
    if isinstance(data, str):
        return JsonKey(key, data)
    if "verbatim" in data:
        return JsonKey(key, data["verbatim"], verbatim=True)
    return JsonKey(key, literal=data["literal"])


def read_variables(document: Document) -> dict[str, Variable]:
    """What becomes of each variable, by name."""
    return {
        name: Variable(
            name,
            document.position(("environment", name), key=True),
            data.get("set"),
            data.get("unset"),
            words(data.get("origin")),
        )
        for name, data in document.data["environment"].items()
    }


def read_render_origins(document: Document) -> tuple[str, ...]:
    """The numbered rules that entries of argv and variables implement."""
    found: list[str] = []
    for item in document.data["argv"]:
        found += words(item.get("origin"))
    for data in document.data["environment"].values():
        found += words(data.get("origin"))
    return tuple(found)
