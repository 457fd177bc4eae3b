"""The shipped rules, said in another order: files split or joined, guards, settings, knobs and facts turned round, guards added."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from resolver.compile import all_flags
from resolver.compile.codegen import generate
from resolver.compile.helpers import HELPERS
from resolver.conditions import Condition
from resolver.diagnostics import Position
from resolver.knobs import KnobTable
from resolver.load import load_rules
from resolver.model import Guard, GuardSeverity, Rules
from resolver.names import Scope
from resolver.resolve import Resolver
from resolver.yaml12 import read
from tests.matrix.asked import product

_KEPT = ("knobs.yaml", "facts.yaml", "render.yaml", "plugins.yaml")


def resolver_for(rules: Rules) -> Resolver:
    """A resolver of these rules, with the product's engines."""
    base = product()
    scope = Scope(frozenset(rules.knobs), frozenset(rules.facts), frozenset(rules.settings), base.scope.flags)
    space: dict[str, Any] = dict(HELPERS)
    exec(compile(generate(rules, scope), "<rules>", "exec"), space)
    return Resolver(base.root, rules, scope, (space["settings"], space["guards"]), base.engine, KnobTable(rules))


def _turned(data: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(data.items()))


def copy_rules(target: Path) -> Path:
    """A copy of profiles.yaml and rules/ below `target`."""
    root = product().root
    shutil.copytree(root / "rules", target / "rules", ignore=shutil.ignore_patterns("machines", "evidence"))
    shutil.copy(root / "profiles.yaml", target / "profiles.yaml")
    return target


def _subjects(target: Path) -> dict[str, dict[str, Any]]:
    found = {p.stem: read(p).data for p in sorted((target / "rules").glob("*.yaml")) if p.name not in _KEPT}
    for p in (target / "rules").glob("*.yaml"):
        if p.name not in _KEPT:
            p.unlink()
    return found


def _write(target: Path, name: str, data: Any) -> None:
    (target / "rules" / f"{name}.yaml").write_text(json.dumps(data), encoding="utf-8")


def split(target: Path) -> None:
    """One file for each setting and each guard, under names that sort otherwise."""
    for data in _subjects(target).values():
        for part in ("settings", "guards"):
            for name, body in (data.get(part) or {}).items():
                _write(target, f"{name[::-1].strip('-_')}-{part}", {part: {name: body}})


def joined(target: Path) -> None:
    """One file for all, everything turned round, knobs and facts too."""
    parts: dict[str, dict[str, Any]] = {"guards": {}, "settings": {}}
    for data in _subjects(target).values():
        for part, bodies in parts.items():
            bodies.update(data.get(part) or {})
    _write(target, "all", {part: _turned(bodies) for part, bodies in parts.items()})
    for name in ("knobs", "facts"):
        _write(target, name, {name: _turned(read(target / "rules" / f"{name}.yaml").data[name])})


def rearranged(target: Path, change: Callable[[Path], None]) -> Resolver:
    """A resolver of the changed copy."""
    change(copy_rules(target))
    return resolver_for(load_rules(target, all_flags(target)))


def all_conditions() -> list[Condition]:
    """Every condition of the shipped rules: what a new guard might ask."""
    rules = product().rules
    rows = [row.when for setting in rules.settings.values() for row in setting.rows]
    return [*rows, *(guard.when for guard in rules.guards.values())]


@lru_cache(maxsize=40)
def with_guard(number: int, severity: GuardSeverity, first: bool) -> Resolver:
    """The product with one more guard, that asks the condition of that number; first or last among the guards."""
    conditions = all_conditions()
    guard = Guard(
        "0-new" if first else "zz-new",
        severity,
        "new",
        conditions[number % len(conditions)],
        Position("new", 1, 1),
        fix="-",
    )
    rules = product().rules
    guards = dict(sorted({**rules.guards, guard.id: guard}.items()))
    return resolver_for(rules._replace(guards=guards))
