"""Open the product's rules: from the cache when nothing changed, else by reading, checking and compiling them."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.compile import cache
from resolver.engine import Engine, engine_files, load_engine, versions
from resolver.knobs import KnobTable, Reading
from resolver.names import Scope

if TYPE_CHECKING:
    from resolver.resolve import Resolver

_CODE = sorted(
    p for p in Path(__file__).resolve().parent.parent.rglob("*.py") if not {"views", "serving", "cli"} & set(p.parts)
)


def product_root() -> Path:
    """The folder that holds launch.py, profiles.yaml and rules/."""
    return Path(__file__).resolve().parent.parent.parent


def all_flags(root: Path) -> frozenset[str]:
    """The destinations of the flags of every known engine version."""
    import json

    found: set[str] = set()
    for version in versions(root):
        found |= json.loads((root / "rules" / "engines" / f"vllm-{version}.json").read_text(encoding="utf-8"))[
            "flags"
        ].keys()
    return frozenset(found)


def _compiled(root: Path, key: str) -> tuple[Any, Any, bytes]:
    entry = cache.load(f"rules-{key}")
    if entry is not None:
        return entry  # type: ignore[no-any-return]
    from resolver.compile.codegen import generate
    from resolver.load import load_rules

    flags = all_flags(root)
    rules = load_rules(root, flags)
    scope = Scope(frozenset(rules.knobs), frozenset(rules.facts), frozenset(rules.settings), flags)
    code = marshal.dumps(compile(generate(rules, scope), "<rules>", "exec"))
    cache.store(f"rules-{key}", (rules, scope, code))
    return rules, scope, code


def rules_key(root: Path) -> str:
    """What the compiled rules depend on: rule files, schemas, code, and the engines' flags."""
    files = [
        *sorted((root / "rules").glob("*.yaml")),
        root / "profiles.yaml",
        *sorted((root / "rules" / "schema").glob("*.json")),
        *sorted((root / "rules" / "engines" / "overlays").glob("*.yaml")),
        *_CODE,
    ]
    stamps = [f"{p.name}:{p.stat().st_size}" for p in sorted((root / "rules" / "engines").glob("vllm-*.json"))]
    return cache.digest(files, str(root), *stamps)


def open_resolver(root: Path | None = None) -> Resolver:
    """The resolver for the rules below `root`. Raises RulesError with every error in them."""
    from resolver.compile.helpers import HELPERS
    from resolver.resolve import Resolver

    root = (root or product_root()).resolve()
    key = rules_key(root)
    rules, scope, code = _compiled(root, key)
    space: dict[str, Any] = dict(HELPERS)
    exec(marshal.loads(code), space)
    kept: dict[tuple[str, str], Reading] = cache.load(f"knobs-{key}") or {}
    return Resolver(
        root,
        rules,
        scope,
        (space["settings"], space["guards"]),
        lambda name: _engine(root, name, key),
        KnobTable(rules, kept),
    )


def _engine(root: Path, name: str, key: str) -> Engine:
    entry = f"engine-{cache.digest(engine_files(root, name), name, key)}"
    found = cache.load(entry)
    if isinstance(found, Engine):
        return found
    engine = load_engine(root, name)
    cache.store(entry, engine)
    return engine


def keep_knobs(resolver: Resolver) -> None:
    """Keep newly checked knob texts for the next run; texts that may hold secrets were never among them."""
    if resolver.table.new:
        cache.store(f"knobs-{rules_key(resolver.root)}", resolver.table.kept)
        resolver.table.new = 0
