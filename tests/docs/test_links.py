"""Every link of a document inside of the repository leads somewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from resolver.views.reference.markdown import slug

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    str(path.relative_to(ROOT))
    for path in sorted(
        {
            *ROOT.glob("*.md"),
            *(ROOT / "docs").rglob("*.md"),
            *(ROOT / "tools").rglob("*.md"),
            *(ROOT / "kernels").glob("*.md"),
        }
    )
]
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^\s*```.*?^\s*```$", "", text)


@cache
def anchors(path: Path) -> frozenset[str]:
    """The places of a page that may be linked to: its headings, and named ones."""
    text = without_code(path.read_text(encoding="utf-8"))
    found: list[str] = re.findall(r'<a id="([^"]+)"></a>', text)
    seen: dict[str, int] = {}
    for heading in re.findall(r"(?m)^#{1,6} (.+)$", text):
        name = slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", ""))
        times = seen.get(name, 0)
        seen[name] = times + 1
        found.append(f"{name}-{times}" if times else name)
    assert len(found) == len(set(found)), [name for name in found if found.count(name) > 1]
    return frozenset(found)


@pytest.mark.parametrize("name", FILES)
def test_links_resolve(name: str) -> None:
    path = ROOT / name
    broken = []
    for target in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        file, _, place = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        if not found.exists() or (place and (found.suffix != ".md" or place not in anchors(found))):
            broken.append(target)
    assert broken == []


def test_every_document_is_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        path = todo.pop()
        if path in reached:
            continue
        reached.add(path)
        for target in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
            found = (path.parent / target.partition("#")[0]).resolve()
            if found.suffix == ".md" and found.is_file():
                todo.append(found)
    assert [name for name in FILES if name.startswith("docs/") and ROOT / name not in reached] == []
