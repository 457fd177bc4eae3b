"""Would the product still load with the new figures? The whole file is read as `check` reads it, before anything is written."""

from __future__ import annotations

from pathlib import Path

from resolver.diagnostics import RulesError
from resolver.serving.errors import LaunchError


def check(text: str, root: Path) -> None:
    """Read a text as profiles.yaml: its structure, its arms, and every figure with the words that figures use.

    Args:
        text: what would stand in profiles.yaml.
        root: the product's root, for schemas and vocabulary.

    Raises:
        LaunchError: something in it would be an error; the first is named with its place.
    """
    from resolver.load import profiles, schema
    from resolver.load.collect import Collector
    from resolver.views.evidence import read_evidence
    from resolver.yaml12 import parse

    try:
        document = parse(text, "profiles.yaml")
        schema.validate(document, root / "rules" / "schema" / "profiles.json")
        collect = Collector()
        profiles.read_arms(document, collect)
        collect.finish()
        read_evidence(root, document)
    except RulesError as error:
        first = error.diagnostics[0]
        more = f", and {len(error.diagnostics) - 1} more" if len(error.diagnostics) > 1 else ""
        raise LaunchError(
            f"with the new figures {first.position} would be wrong: {first.message}{more}",
            first.fix or "run `launch.py check`, and mend what it names first",
        ) from None
