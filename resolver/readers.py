"""Which known engines read something that this one does not: other versions, and overlays."""

from __future__ import annotations

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
    # an engine whose parser lists no choices checks the value later: nothing can be said of it
    return kind == "flag" or value in engine.choices(dest)


def readers(resolver: Resolver, engine: Engine, kind: str, what: str, value: str) -> list[str]:
    """Engines by name, nearest first: this one with an overlay more, then the other versions. Found once."""
    kept = resolver.readers_found
    key = (engine.name, kind, what, value)
    if key not in kept:
        if len(kept) > 1000:
            kept.clear()
        kept[key] = _readers(resolver, engine, kind, what, value)
    return kept[key]


def _readers(resolver: Resolver, engine: Engine, kind: str, what: str, value: str) -> list[str]:
    known = versions(resolver.root)
    here = known.index(engine.version)
    others = sorted((v for v in known if v != engine.version), key=lambda v: abs(known.index(v) - here))
    more = [o for o in overlays(resolver.root) if o not in engine.overlays]
    found = []
    for name in [*(f"{engine.name}+{o}" for o in more), *others]:
        other = _try(resolver, name)
        if other is not None and has(other, kind, what, value):
            found.append(name)
            if len(found) == 2:
                break
    return found


def _try(resolver: Resolver, name: str) -> Engine | None:
    """The engine, or None where version and overlay do not go together; that is remembered too."""
    if name in resolver.no_engines:
        return None
    try:
        return resolver.engine(name)
    except (UsageError, RulesError):
        resolver.no_engines.add(name)
        return None
