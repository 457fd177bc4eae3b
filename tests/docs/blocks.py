"""The fenced blocks of the documents: which lines are commands, and what output is shown for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = "docs/reference/"
LANGUAGES = ("sh", "console", "yaml", "json", "python", "text", "")


@dataclass(frozen=True)
class Command:
    """One command of a document. `shown` is the output that the document shows for it; None where it shows none."""

    document: str
    line: int
    text: str
    shown: str | None = None


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its lines, and the number of its first line."""

    document: str
    line: int
    language: str
    lines: tuple[str, ...]


def documents() -> list[str]:
    """Every document that people write or read: all Markdown but the reference, which has no commands of its own."""
    found = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    names = [str(path.relative_to(ROOT)) for path in found]
    return [name for name in names if not name.startswith(MADE)]


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a document. Raises AssertionError for one that is not closed."""
    lines = (ROOT / document).read_text(encoding="utf-8").split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"^\s*```(\w*)$", lines[at])
        at += 1
        if fence is None:
            continue
        begin = at
        while lines[at].strip() != "```":
            at += 1
            assert at < len(lines), f"{document}:{begin}: the block is not closed"
        yield Block(document, begin + 1, fence[1], tuple(lines[begin:at]))
        at += 1


def commands(document: str) -> Iterator[Command]:
    """The commands of a document: every line of a `sh` block, and what follows `$ ` in a `console` block with its output."""
    for block in blocks(document):
        if block.language == "sh":
            for number, line in enumerate(block.lines):
                text = re.sub(r"\s+# .*$", "", line).strip()
                if text and not text.startswith("#"):
                    yield Command(document, block.line + number, text)
        elif block.language == "console":
            yield from _shown(block)


def _shown(block: Block) -> Iterator[Command]:
    starts = [i for i, line in enumerate(block.lines) if line.startswith("$ ")]
    assert starts
    assert starts[0] == 0, f"{block.document}:{block.line}: output without a command"
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        shown = "\n".join(block.lines[start + 1 : end])
        yield Command(block.document, block.line + start, block.lines[start][2:], shown or None)
