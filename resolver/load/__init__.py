"""Read profiles.yaml and rules/ into `Rules`: structure by JSON Schema, then meaning; every error with file:line:column."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TypeVar

from resolver.conditions import All, Any_, Condition, Leaf
from resolver.diagnostics import RulesError
from resolver.expressions import Const
from resolver.load import knobs as knob_files
from resolver.load import links, order, profiles, render, schema, subjects
from resolver.load.collect import Collector
from resolver.model import Arm, Guard, Row, Rules, Setting
from resolver.names import Scope
from resolver.yaml12 import Document, read

T = TypeVar("T", Setting, Guard)

NO_RULES = frozenset({"accepted_findings.yaml", "failures.yaml", "geometry.yaml", "plugins.yaml"})
"""Data in rules/ that is not a rule: read by the part of the product that uses it."""
SPECIAL = {"knobs.yaml": "knobs", "facts.yaml": "facts", "render.yaml": "render"}


def rule_files(root: Path) -> list[Path]:
    """The files that the rules consist of, sorted by name."""
    return [*sorted((root / "rules").glob("*.yaml")), root / "profiles.yaml"]


def load_rules(root: Path, flags: Collection[str]) -> Rules:
    """Read all rule files below `root`. `flags` are the destinations of the engine flags that may be asked about.

    Raises RulesError with every error found.
    """
    collect = Collector()
    documents: dict[str, Document] = {}
    for path in rule_files(root):
        shown = str(path.relative_to(root))
        if path.name in NO_RULES:
            continue
        document = collect.attempt(read, path, shown)
        if document is None:
            continue
        kind = "profiles" if path.parent == root else SPECIAL.get(path.name, "subject")
        if collect.attempt(_valid, document, root / "rules" / "schema" / f"{kind}.json"):
            documents[shown] = document
    for needed in ("profiles.yaml", "rules/knobs.yaml", "rules/facts.yaml", "rules/render.yaml"):
        if needed not in documents and not collect.errors:
            collect.attempt(read, root / needed, needed)
    overlays = plugin_overlays(root, collect)
    collect.finish()
    return _assemble(documents, flags, overlays, collect)


def plugin_overlays(root: Path, collect: Collector) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The overlays that come with an installed plugin."""
    found = {}
    for path in sorted((root / "rules" / "engines" / "overlays").glob("*.yaml")):
        document = collect.attempt(read, path, str(path.relative_to(root)))
        if document and collect.attempt(_valid, document, root / "rules" / "schema" / "overlay.json"):
            data = document.data
            if data["overlay"] != path.stem:
                collect.fail(
                    "overlay", f"{data['overlay']} is not the name of its file", document.position(("overlay",))
                )
            if "plugin" in data:
                found[data["plugin"]] = (data["overlay"], tuple(data["engine"]))
    return found


def _valid(document: Document, schema_file: Path) -> bool:
    schema.validate(document, schema_file)
    return True


def _assemble(
    documents: dict[str, Document],
    flags: Collection[str],
    overlays: dict[str, tuple[str, tuple[str, ...]]],
    collect: Collector,
) -> Rules:
    knobs = knob_files.read_knobs(documents["rules/knobs.yaml"], collect)
    facts = knob_files.read_facts(documents["rules/facts.yaml"])
    arms, needs = profiles.read_arms(documents["profiles.yaml"], collect)
    named = profiles.read_profiles(documents["profiles.yaml"])
    bodies = [d for shown, d in documents.items() if shown not in ("profiles.yaml", *(f"rules/{n}" for n in SPECIAL))]
    tables = [*(s for d in bodies for s in subjects.read_settings(d, collect)), *arm_settings(arms)]
    settings = _unique(tables, "setting", collect)
    guards = _unique([*(g for d in bodies for g in subjects.read_guards(d, collect)), *needs], "guard", collect)
    argv = render.read_argv(documents["rules/render.yaml"], collect)
    variables = render.read_variables(documents["rules/render.yaml"])
    for name in sorted({*knobs} & {*settings} | {*knobs} & {*facts} | {*facts} & {*settings}):
        collect.fail(
            "name",
            f"{name} is defined twice: as knob, fact or setting",
            (settings.get(name) or knobs[name]).position,
            "rename one",
        )
    scope = Scope(knobs, facts, settings, flags)
    order.check_names(scope, settings.values(), guards.values(), documents, collect)
    links.check_render(scope, argv, variables, collect)
    links.check_knobs(scope, knobs, documents["rules/knobs.yaml"], collect)
    links.check_guards(scope, guards.values(), collect)
    links.check_profiles(named, knobs, documents["profiles.yaml"], collect)
    collect.finish()
    ordered = order.order_settings(scope, settings, collect)
    collect.finish()
    return Rules(
        knobs=knobs,
        facts=facts,
        settings=settings,
        guards={name: guards[name] for name in sorted(guards)},
        arms=arms,
        profiles=named,
        argv=argv,
        variables=variables,
        implementations=tuple(i for d in bodies for i in subjects.read_implementations(d)),
        order=ordered,
        plugin_overlays=overlays,
        render_origins=render.read_render_origins(documents["rules/render.yaml"]),
    )


def arm_settings(arms: dict[str, Arm]) -> list[Setting]:
    """The setting `arm`, whose table is the arms, and one setting for each name that an arm sets."""
    if not arms:
        return []
    position = next(iter(arms.values())).position
    rows = tuple(Row(arm_condition(arm), Const(name), arm.position, origins=arm.origins) for name, arm in arms.items())
    out = [Setting("arm", rows, position, "the arm that is launched")]
    for name in sorted({name for arm in arms.values() for name in arm.sets}):
        out.append(
            Setting(
                name,
                tuple(
                    Row(Leaf("arm", "is", (arm.name,), ()), arm.sets[name], arm.position)
                    for arm in arms.values()
                    if name in arm.sets
                ),
                next(arm.position for arm in arms.values() if name in arm.sets),
            )
        )
    return out


def arm_condition(arm: Arm) -> Condition:
    """When a candidate is taken: asked for by name, or eligible by default."""
    ways = tuple(way for way in (arm.chosen_by, arm.eligible) if way is not None)
    if not ways:
        return arm.when
    return All((arm.when, ways[0] if len(ways) == 1 else Any_(ways)))


def _unique(items: Iterable[T], kind: str, collect: Collector) -> dict[str, T]:
    out: dict[str, T] = {}
    for item in items:
        name = item.name if isinstance(item, Setting) else item.id
        if name in out:
            collect.fail(
                kind,
                f"{kind} {name} is defined twice: first at {out[name].position}",
                item.position,
                "keep one of the two",
            )
        else:
            out[name] = item
    return out


__all__ = ["RulesError", "load_rules"]
