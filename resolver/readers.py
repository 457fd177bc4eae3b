"""Which known engines read something that this one does not: other versions, and overlays."""

from __future__ import annotations

from collections.abc import Callable

from resolver.diagnostics import RulesError, UsageError
from resolver.engine import Engine, overlays, versions
from resolver.resolve import Resolver


def has(engine: Engine, kind: str, what: str, value: str) -> bool:
    """Whether the engine reads it. `kind`: flag, choice (of flag `what`) or variable."""
    if kind == "variable":
        return what in engine.variables
    dest = engine.spellings.get(what)
    if dest is None:
        return False
    return kind == "flag" or not engine.choices(dest) or value in engine.choices(dest)


def readers(resolver: Resolver, engine: Engine, kind: str, what: str, value: str) -> list[str]:
    """Engines by name, nearest first: this version with an overlay, then later and earlier versions."""
    root = resolver.root
    others = [v for v in versions(root) if v != engine.version]
    candidates = [f"{engine.version}+{o}" for o in overlays(root) if o not in engine.overlays] + others[::-1]
    found = []
    for name in candidates:
        if (other := _try(resolver.engine, name)) is not None and has(other, kind, what, value):
            found.append(name)
            if len(found) == 2:
                break
    return found


def _try(load: Callable[[str], Engine], name: str) -> Engine | None:
    try:
        return load(name)
    except (UsageError, RulesError):
        return None
