"""`launch.py engines`: the vLLM versions and overlays that the product knows."""

from __future__ import annotations

from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.compile import open_resolver
from resolver.diagnostics import UsageError
from resolver.engine import DEFAULT_VERSION, overlays, versions
from resolver.views.page import dump, stdout_page


def run(line: Line) -> int:
    """Print versions and overlays, and which go together."""
    resolver = open_resolver()
    root = resolver.root
    rows = []
    for version in versions(root):
        engine = resolver.engine(version)
        rows.append(
            {
                "version": version,
                "flags": len(engine.flags),
                "variables": len(engine.variables),
                "attention": engine.attention is not None,
                "overlays": [o for o in overlays(root) if _fits(resolver.engine, f"{version}+{o}")],
                "default": version == DEFAULT_VERSION,
            }
        )
    if line.given("--json"):
        put(dump({"schema": 1, "engines": rows}))
        return OK
    shown = [
        (
            str(r["version"]) + (" (default)" if r["default"] else ""),
            str(r["flags"]),
            str(r["variables"]),
            "known" if r["attention"] else "unknown",
            ", ".join(r["overlays"]) if isinstance(r["overlays"], list) and r["overlays"] else "none",
        )
        for r in rows
    ]
    stdout_page().table(("vLLM", "flags", "variables", "attention support", "overlays that fit"), shown)
    return OK


def _fits(load: object, name: str) -> bool:
    assert callable(load)
    try:
        load(name)
    except UsageError:
        return False
    return True
