"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text as it may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as lines; nothing when there are no rows."""
    body = [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *body, ""] if body else []


def code(text: str) -> str:
    """Text in the type of code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def plain(text: str) -> str:
    """A sentence of the rules: signs that Markdown reads as its own are escaped, but for code between backticks."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\*_<>\[\]`])", r"\\\1", part) for i, part in enumerate(parts))


def slug(heading: str) -> str:
    """The anchor that a heading gets: lower case, no punctuation but `-` and `_`, spaces become `-`."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchor(name: str) -> str:
    """A place to link to in the middle of a table."""
    return f'<a id="{name}"></a>'


def made_from(what: str) -> str:
    """The second line of every page."""
    return f"Made from {what} by `make reference`. Do not edit."
