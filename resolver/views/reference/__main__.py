"""`python -m resolver.views.reference`: write every page and block that is made from data; with --check only compare them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from resolver.cli.start import guarded
from resolver.compile import open_resolver
from resolver.resolve import Resolver
from resolver.views import fit_boots, hazards
from resolver.views.evidence import load_evidence
from resolver.views.reference import arms, blocks, index, knobs, machines, rules, troubleshooting
from resolver.views.reference.links import FOLDER, Links


def pages(resolver: Resolver) -> Iterator[tuple[str, str]]:
    """Path in the repository and text of every page that is made whole."""
    links = Links(resolver, load_evidence(resolver.root))
    made = [
        ("README.md", index.index_page),
        ("profiles.md", arms.profiles_page),
        ("arms.md", arms.arms_page),
        ("knobs.md", knobs.knobs_page),
        ("environment.md", knobs.environment_page),
        ("machines.md", machines.machines_page),
        ("engines.md", machines.engines_page),
    ]
    for name, make in made:
        yield f"{FOLDER}/{name}", _text(make(links.on(name)))
    for name, lines in (*rules.pages(links), *machines.figure_pages(links)):
        yield f"{FOLDER}/{name}", _text(lines)
    yield troubleshooting.PAGE, _text(troubleshooting.page(links.on("../troubleshooting.md")))
    yield hazards.PAGE, hazards.page(resolver.root)
    yield fit_boots.PAGE, fit_boots.page(resolver)


def _text(lines: list[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"


def stale(root: Path, wanted: dict[str, str]) -> list[str]:
    """The pages that do not stand in the repository as they should, and pages of the reference that nothing makes."""
    found = [name for name, text in wanted.items() if not _is(root / name, text)]
    there = [str(path.relative_to(root)) for path in sorted((root / FOLDER).rglob("*.md"))]
    return [*found, *(name for name in there if name not in wanted)]


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main(arguments: list[str]) -> int:
    """Write, or with --check compare: 1 when a page is out of date."""
    resolver = open_resolver()
    root = Path(resolver.root)
    wanted = dict(pages(resolver)) | dict(blocks.pages(resolver))
    found = stale(root, wanted)
    if "--check" in arguments:
        for name in found:
            print(f"{name} is out of date: run make reference")
        return 1 if found else 0
    for name in found:
        path = root / name
        if name not in wanted:
            path.unlink()
            print(f"removed {name}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name], encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(sys.argv[1:])))
