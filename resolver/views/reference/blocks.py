"""Tables that are made from data and stand in pages that people write, between two markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from resolver.diagnostics import Diagnostic, RulesError
from resolver.resolve import Resolver
from resolver.views.evidence import load_evidence
from resolver.views.reference import migrating, readme
from resolver.views.reference.links import Links

BLOCKS: dict[str, dict[str, Callable[[Links], list[str]]]] = {
    "README.md": {"profiles": readme.profiles, "capabilities": readme.capabilities},
    "docs/migrating.md": {"variables": migrating.variables},
}


def pages(resolver: Resolver) -> Iterator[tuple[str, str]]:
    """The pages with their blocks as they should be. Raises RulesError where a marker is missing."""
    links = Links(resolver, load_evidence(resolver.root))
    for name, made in BLOCKS.items():
        text = (Path(resolver.root) / name).read_text(encoding="utf-8")
        for block, make in made.items():
            page = "../../README.md" if name == "README.md" else f"../{Path(name).name}"
            text = _put(text, name, block, "\n".join(make(links.on(page))).strip("\n"))
        yield name, text


def _put(text: str, name: str, block: str, lines: str) -> str:
    begin, end = f"<!-- made: {block} -->", "<!-- end -->"
    pattern = re.compile(re.escape(begin) + r"\n.*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise RulesError(
            [Diagnostic("error", "markers", f"{name} has no block {block}", f"write {begin} and {end} there")]
        )
    return pattern.sub(lambda _: f"{begin}\n{lines}\n{end}", text)
