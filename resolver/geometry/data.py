"""Read rules/geometry.yaml: formats, shapes, and the memory that the engine takes beside the pool. Sources stand beside the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from resolver.geometry.shapes import Attention, Format, NoGeometry, Recurrent, Shape


class Band(NamedTuple):
    """A number between two ends (GiB, unless said), and where it is from."""

    low: float
    high: float
    source: str
    figures: tuple[str, ...] = ()

    def times(self, factor: float) -> Band:
        """Both ends times a factor."""
        return Band(self.low * factor, self.high * factor, self.source, self.figures)


class Knowledge(NamedTuple):
    """All of rules/geometry.yaml. `boots` stays plain: only the report of boots reads it."""

    formats: Mapping[str, Format]
    shapes: Mapping[str, Shape]
    cards: Mapping[str, Band]
    other_cards: Band
    wsl_free: Band
    wsl_of: float
    weights: Mapping[str, Band]
    running: Mapping[tuple[str, str], Band]
    other_running: Band
    after_profile: Band
    boots: tuple[Mapping[str, Any], ...]

    def format_named(self, word: str) -> Format:
        """The format that a word of --kv-cache-dtype means. Raises NoGeometry."""
        for form in self.formats.values():
            if word in form.names:
                return form
        raise NoGeometry(
            f"the size of a cache of type {word} is not known here", "use a type of `launch.py fit --formulas`"
        )


def knowledge(root: Path) -> Knowledge:
    """The knowledge of a product root, read once. Raises RulesError."""
    return _read(root)


@lru_cache(maxsize=4)
def _read(root: Path) -> Knowledge:
    from resolver.compile import cache

    path, schema_file = root / "rules" / "geometry.yaml", root / "rules" / "schema" / "geometry.json"
    entry = f"geometry-{cache.digest([path, schema_file])}"
    data = cache.load(entry)
    if not isinstance(data, dict):
        from resolver.load import schema
        from resolver.yaml12 import read

        document = read(path, "rules/geometry.yaml")
        schema.validate(document, schema_file)
        data = document.data
        cache.store(entry, data)
    return _knowledge(data)


def _knowledge(data: Mapping[str, Any]) -> Knowledge:
    other = data["other_cards"]
    return Knowledge(
        formats={name: _format(name, item) for name, item in data["formats"].items()},
        shapes={name: _shape(name, item) for name, item in data["models"].items()},
        cards={name: _band(item) for name, item in data["cards"].items()},
        other_cards=Band(other["low_share"], other["high_share"], other["source"]),
        wsl_free=_band(data["wsl_free"]),
        wsl_of=float(data["wsl_free"]["of"]),
        weights={name: _band(item) for name, item in data["weights"].items()},
        running={(item["drafter"], item["format"]): _band(item) for item in data["running"]},
        other_running=_band(data["other_running"]),
        after_profile=_band(data["after_profile"]),
        boots=tuple(data["boots"]),
    )


def _band(item: Mapping[str, Any]) -> Band:
    return Band(float(item["low"]), float(item["high"]), item["source"], tuple(item.get("figures", ())))


def _format(name: str, item: Mapping[str, Any]) -> Format:
    return Format(name, **{**item, "names": tuple(item["names"])})


def _shape(name: str, item: Mapping[str, Any]) -> Shape:
    return Shape(
        name,
        Attention(**item["attention"]),
        Recurrent(**item["recurrent"]) if "recurrent" in item else None,
        item.get("mtp_layers", 0),
        Attention(**item["drafter"]) if "drafter" in item else None,
        item.get("patched_group"),
        item.get("longest"),
        item["source"],
    )
