"""Read rules/evidence/ and the evidence of arms in profiles.yaml: every figure with its vocabulary, checked, kept in the cache.

Never read by a launch or by `resolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver import diagnostics
from resolver.compile import cache
from resolver.diagnostics import Position, nearest
from resolver.load.collect import Collector

if TYPE_CHECKING:
    from resolver.yaml12 import Document

QUOTE = "quoted figure"
"""The rule that an arm breaks that quotes what is not there: `check` shows such arms with a request."""
_CLASSES = (Path(__file__), Path(diagnostics.__file__))
"""Where the classes are defined whose members are kept in the cache: another class takes no older member for its own."""
BESIDE = "arm"
"""The source of a figure beside an arm that names none."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement. A part that is None or empty is unknown; `low` and `high` stand for a stated range.

    `setup` is what was running (ctx, spec, backend, knobs …); `power_cap_w` is in watts; `engine` is a vLLM version; `arm` is
    the arm that the figure stands beside, or that its record names; `provenance` has what `launch.py measure` recorded beside.
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
    arm: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All figures by id, in the order of the files, and the words they use (metric, hardware, source: name to its entry)."""

    figures: Mapping[str, Figure]
    metrics: Mapping[str, Mapping[str, str]]
    hardware: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, Mapping[str, Any]]
    qualities: Mapping[str, str]
    repeating_tasks: tuple[str, ...] = ()

    def repeats(self, figure: Figure) -> bool:
        """Whether it was measured on answers that repeat their prompt."""
        return figure.setup.get("task") in self.repeating_tasks

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
    schemas = [root / "rules" / "schema" / name for name in ("figures.json", "profiles.json")]
    behind = [*files(root), root / "profiles.yaml", *schemas, *_CLASSES]
    entry = f"evidence-{cache.digest(behind)}"
    found = cache.load(entry)
    if isinstance(found, Evidence):
        return found
    evidence = read_evidence(root)
    cache.store(entry, evidence)
    return evidence


def read_evidence(root: Path, profiles: Document | None = None) -> Evidence:
    """Read every figure, with `profiles` in the place of profiles.yaml. Raises RulesError with every error."""
    from resolver.load import schema
    from resolver.yaml12 import read

    collect = Collector()
    figures, words = _read_files(root)
    if profiles is None and (root / "profiles.yaml").exists():
        profiles = collect.attempt(read, root / "profiles.yaml", "profiles.yaml")
        if profiles is not None:
            collect.attempt(schema.validate, profiles, root / "rules" / "schema" / "profiles.json")
    if not collect.errors and profiles is not None:
        _read_arms(profiles, figures, words, collect)
    if not collect.errors:
        _check(figures, words, collect)
    collect.finish()
    repeating = tuple(words.get("repeating_tasks", ()))
    return Evidence(figures, words["metrics"], words["hardware"], words["sources"], words["qualities"], repeating)


def _read_files(root: Path) -> tuple[dict[str, Figure], dict[str, Any]]:
    """The figures of rules/evidence/ and their words; kept, for they are many and change seldom. Raises RulesError."""
    from resolver.load import schema
    from resolver.yaml12 import Document, read

    schema_file = root / "rules" / "schema" / "figures.json"
    entry = f"figures-{cache.digest([*files(root), schema_file, *_CLASSES])}"
    found = cache.load(entry)
    if isinstance(found, tuple):
        return found
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
        words |= {name: v for name, v in document.data.items() if name not in ("figures", "unlinked")}
        for i, item in enumerate(document.data.get("figures", ())):
            _add(figures, _figure(item, document, ("figures", i)), collect)
    collect.finish()
    cache.store(entry, (figures, words))
    return figures, words


def _read_arms(document: Document, figures: dict[str, Figure], words: dict[str, Any], collect: Collector) -> None:
    """Add the figures that stand beside arms, with hardware that the vocabulary does not have, and check what arms quote."""
    words["hardware"] = dict(words["hardware"])
    for name, arm in document.data["arms"].items():
        for i, item in enumerate(arm.get("evidence", ())):
            path = ("arms", name, "evidence", i)
            capability, hardware = item["capability"], item["hardware"]
            new = {"gpus": _gpus(hardware, capability), **({} if capability == "none" else {"capability": capability})}
            known = words["hardware"].setdefault(hardware, new)
            if known.get("capability") != new.get("capability"):
                has = known.get("capability", "no capability")
                said = f"{item['id']}: {hardware} has {has}, not {capability}"
                collect.fail("figure", said, document.position((*path, "capability")), "correct one of the two")
            plain = {k: v for k, v in item.items() if k != "capability"}
            figure = _figure({"quality": "measured", "source": BESIDE, **plain, "arm": name}, document, path)
            _add(figures, figure, collect)
    for name, arm in document.data["arms"].items():
        quoted = arm.get("figures", [])
        for i, id in enumerate([quoted] if isinstance(quoted, str) else quoted):
            if id not in figures:
                where = document.position(("arms", name, "figures", i))
                near = nearest(id, list(figures))
                fix = f"did you mean {near}?" if near else "add it under `evidence`, or to a file of rules/evidence/"
                collect.fail(QUOTE, f"{name}: there is no figure {id!r}", where, fix)


def _gpus(hardware: str, capability: str) -> int:
    """How many cards the name of hardware stands for: `2x RTX 3080 20 GB` is two."""
    count, times, _ = hardware.partition("x ")
    return int(count) if times and count.isdigit() else int(capability != "none")


def _figure(item: Mapping[str, Any], document: Any, path: tuple[str | int, ...]) -> Figure:
    data = dict(item)
    data["low"], data["high"] = data.pop("min", None), data.pop("max", None)
    for key in ("contradicts", "also_in"):
        data[key] = tuple(data.get(key, ()))
    return Figure(**data, position=document.position(path))


def _add(figures: dict[str, Figure], figure: Figure, collect: Collector) -> None:
    if figure.id in figures:
        first = figures[figure.id].position
        collect.fail("figure", f"{figure.id} is there twice: first at {first}", figure.position, "give one another id")
    figures[figure.id] = figure


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
