"""Read rules/evidence/: every figure with its vocabulary, checked, kept in the cache. Never read by a launch or by `resolve`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from resolver.compile import cache
from resolver.diagnostics import Position
from resolver.load.collect import Collector


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement. A part that is None or empty is unknown; `low` and `high` stand for a stated range.

    `setup` is what was running (ctx, spec, backend, knobs …); `power_cap_w` is in watts; `engine` is a vLLM version.
    """

    id: str
    metric: str
    unit: str
    quality: str
    source: str
    position: Position
    value: float | int | None = None
    low: float | int | None = None
    high: float | int | None = None
    n: int | None = None
    spread: str | None = None
    setup: Mapping[str, Any] = field(default_factory=dict)
    hardware: str | None = None
    platform: str | None = None
    engine: str | None = None
    date: str | None = None
    power_cap_w: int | None = None
    note: str | None = None
    superseded_by: str | None = None
    superseded_basis: str | None = None
    compares_with: str | None = None
    contradicts: tuple[str, ...] = ()
    issue: int | None = None
    also_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """All figures by id, in the order of the files, and the words they use (metric, hardware, source: name to its entry)."""

    figures: Mapping[str, Figure]
    metrics: Mapping[str, Mapping[str, str]]
    hardware: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, Mapping[str, Any]]
    qualities: Mapping[str, str]

    def capability(self, figure: Figure) -> str | None:
        """The compute capability a figure was measured on; None when its hardware is unknown."""
        found = self.hardware.get(figure.hardware or "", {}).get("capability")
        return str(found) if found else None

    def contradicting(self, figure: Figure) -> tuple[str, ...]:
        """The figures that say something else, whichever side names the other."""
        others = [f.id for f in self.figures.values() if figure.id in f.contradicts]
        return tuple(dict.fromkeys([*figure.contradicts, *others]))


def files(root: Path) -> list[Path]:
    """The files that hold figures and their words."""
    folder = root / "rules" / "evidence"
    return [folder / "vocabulary.yaml", *sorted(folder.glob("figures-*.yaml"))]


def load_evidence(root: Path) -> Evidence:
    """Every figure below `root`. Raises RulesError with every error, each with its place."""
    schema_file = root / "rules" / "schema" / "figures.json"
    entry = f"evidence-{cache.digest([*files(root), schema_file, Path(__file__)])}"
    found = cache.load(entry)
    if isinstance(found, Evidence):
        return found
    evidence = _read(root, schema_file)
    cache.store(entry, evidence)
    return evidence


def _read(root: Path, schema_file: Path) -> Evidence:
    from resolver.load import schema
    from resolver.yaml12 import Document, read

    collect = Collector()
    words: dict[str, Any] = {}
    figures: dict[str, Figure] = {}
    for path in files(root):
        document = collect.attempt(read, path, str(path.relative_to(root)))
        before = len(collect.errors)
        if document is None:
            continue
        collect.attempt(schema.validate, document, schema_file)
        if len(collect.errors) > before:
            continue
        assert isinstance(document, Document)
        words |= {k: v for k, v in document.data.items() if k not in ("figures", "unlinked")}
        for figure in _figures(document):
            if figure.id in figures:
                collect.fail(
                    "figure", f"{figure.id} is there twice: first at {figures[figure.id].position}", figure.position
                )
            figures[figure.id] = figure
    if not collect.errors:
        _check(figures, words, collect)
    collect.finish()
    return Evidence(figures, words["metrics"], words["hardware"], words["sources"], words["qualities"])


def _figures(document: Any) -> Iterator[Figure]:
    for i, item in enumerate(document.data.get("figures", ())):
        data = dict(item)
        data["low"], data["high"] = data.pop("min", None), data.pop("max", None)
        for key in ("contradicts", "also_in"):
            data[key] = tuple(data.get(key, ()))
        yield Figure(**data, position=document.position(("figures", i)))


def _check(figures: Mapping[str, Figure], words: Mapping[str, Any], collect: Collector) -> None:
    """Words that nothing explains, units that do not fit, and references to figures that are not there."""
    vocabularies = {"metric": "metrics", "quality": "qualities", "hardware": "hardware", "source": "sources"}
    for f in figures.values():
        for part, vocabulary in vocabularies.items():
            word = getattr(f, part)
            if word is not None and word not in words.get(vocabulary, ()):
                collect.fail("figure", f"{f.id}: {word!r} is not among the {vocabulary} of vocabulary.yaml", f.position)
        metric = words["metrics"].get(f.metric)
        if metric and f.unit not in (metric["unit"], *words.get("other_units", {}).get(f.metric, ())):
            collect.fail("figure", f"{f.id}: {f.metric} is in {metric['unit']}, not in {f.unit}", f.position)
        if (f.quality == "superseded") != (f.superseded_by is not None):
            collect.fail("figure", f"{f.id}: a superseded figure says by which one, another one does not", f.position)
        for other in (f.superseded_by, f.compares_with, *f.contradicts):
            if other is not None and other not in figures:
                collect.fail("figure", f"{f.id}: there is no figure {other!r}", f.position)
