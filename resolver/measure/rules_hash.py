"""Have the rules changed? A hash of what decides launches: evidence, examples and help are left out, so that adding a figure changes nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from resolver import files
from resolver.load import NO_RULES
from resolver.measure.configuration import LENGTH

DECIDES = ("when", "chosen_by", "eligible", "needs", "sets")
"""The keys of an arm that say what is launched; the others say what is known of it."""


def rules_hash(root: Path, engine: str | None) -> str:
    """Sixteen hexadecimal digits for the rules below `root`, and for what they know of one engine.

    Args:
        root: the product's folder.
        engine: `VERSION[+overlay...]`, whose flags, choices and variables decide what is left out. None where it is not known;
            other engines never count, so that a new version makes nothing stale.

    Raises:
        RulesError: profiles.yaml cannot be read.
    """
    from resolver.yaml12 import read

    found = hashlib.sha256()
    rules = [path for path in (root / "rules").glob("*.yaml") if path.name not in NO_RULES]
    for path in [*sorted(rules), *_of_the_engine(root, engine)]:
        found.update(path.name.encode() + b"\0" + files.read_bytes(path) + b"\0")
    data = read(root / "profiles.yaml", "profiles.yaml").data
    arms = {
        name: {key: arm[key] for key in DECIDES if key in arm}
        for name, arm in data.get("arms", {}).items()
        if isinstance(arm, dict)
    }
    profiles = {name: p.get("knobs") for name, p in data.get("profiles", {}).items() if isinstance(p, dict)}
    found.update(json.dumps([list(arms.items()), profiles], sort_keys=True).encode())
    return found.hexdigest()[:LENGTH]


def _of_the_engine(root: Path, engine: str | None) -> list[Path]:
    """Its files, in one order however its overlays are; none of an engine that is not known."""
    from resolver.diagnostics import UsageError
    from resolver.engine import engine_files

    try:
        return sorted(engine_files(root, engine)) if engine else []
    except UsageError:
        return []
