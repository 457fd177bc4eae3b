"""Open the product's rules: from the cache when nothing changed, else by reading, checking and compiling them."""

from __future__ import annotations

import marshal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.compile import cache
from resolver.diagnostics import Diagnostic, Position, RulesError
from resolver.engine import Engine, engine_files, load_engine, read_engine_file, versions
from resolver.knobs import KnobTable, Reading
from resolver.names import Scope

if TYPE_CHECKING:
    from resolver.model import Rules
    from resolver.resolve import Resolver

_CODE = sorted(
    p
    for p in Path(__file__).resolve().parent.parent.rglob("*.py")
    if not {"views", "serving", "cli", "analysis", "measure"} & set(p.parts)
)


def product_root() -> Path:
    """The folder that holds launch.py, profiles.yaml and rules/."""
    return Path(__file__).resolve().parent.parent.parent


def all_flags(root: Path) -> frozenset[str]:
    """The destinations of the flags of every known engine version."""
    found: set[str] = set()
    if not versions(root):
        where = Position("rules/engines", 1, 1)
        said = "no engine is described there: it has no file vllm-VERSION.json"
        raise RulesError([Diagnostic("error", "engine", said, "restore rules/engines from the repository", where)])
    for version in versions(root):
        found |= read_engine_file(root, root / "rules" / "engines" / f"vllm-{version}.json")["flags"].keys()
    return frozenset(found)


def _compiled(root: Path, key: str) -> tuple[Rules, Scope, dict[str, Any]]:
    """Rules, scope, and the names that the compiled code defines."""
    entry: Any = cache.load(f"rules-{key}")
    try:
        rules, scope, code = entry
        return rules, scope, _run(code)
    except Exception:  # no entry, or a damaged one
        entry = None
    from resolver.compile.codegen import generate
    from resolver.load import load_rules

    flags = all_flags(root)
    rules = load_rules(root, flags)
    scope = Scope(frozenset(rules.knobs), frozenset(rules.facts), frozenset(rules.settings), flags)
    code = marshal.dumps(compile(generate(rules, scope), "<rules>", "exec"))
    cache.store(f"rules-{key}", (rules, scope, code))
    return rules, scope, _run(code)


def _run(code: bytes) -> dict[str, Any]:
    from resolver.compile.helpers import HELPERS

    space: dict[str, Any] = dict(HELPERS)
    exec(marshal.loads(code), space)
    return space


def rules_key(root: Path) -> str:
    """What the compiled rules depend on: rule files, schemas, code, and the engines' flags."""
    files = [
        *sorted((root / "rules").glob("*.yaml")),
        root / "profiles.yaml",
        *sorted((root / "rules" / "schema").glob("*.json")),
        *sorted((root / "rules" / "engines" / "overlays").glob("*.yaml")),
        *_CODE,
    ]
    engines = [(p.name, p.stat()) for p in sorted((root / "rules" / "engines").glob("vllm-*.json"))]
    stamps = [f"{name}:{status.st_size}:{status.st_mtime_ns}" for name, status in engines]
    return cache.digest(files, str(root), *stamps)


def open_resolver(root: Path | None = None) -> Resolver:
    """The resolver for the rules below `root`. Raises RulesError with every error in them."""
    from resolver.resolve import Resolver

    root = (root or product_root()).resolve()
    key = rules_key(root)
    rules, scope, space = _compiled(root, key)
    entry = cache.load(f"knobs-{key}")
    kept: dict[tuple[str, str], Reading] = entry if isinstance(entry, dict) else {}
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
