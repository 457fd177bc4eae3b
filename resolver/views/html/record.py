"""A page that keeps what is put on it, so that a browser can show the same."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.shown import clean

Item = tuple[int, str, str]
"""Indent, key and value of a pair; or indent, style behind a `/`, and the text of a line."""


class Recording:
    """The lines and pairs of one answer, in order. It has no width: nothing is wrapped."""

    width = 110

    def __init__(self) -> None:
        self.items: list[Item] = []

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        self.items.append((indent, f"/{style}", clean(text)))

    def pairs(self, rows: Sequence[tuple[str, str]], indent: int = 0) -> None:
        self.items += [(indent, clean(key), clean(value)) for key, value in rows]

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        raise NotImplementedError("a resolution is shown without tables")

    def verbatim(self, text: str) -> None:
        raise NotImplementedError("the command is kept as words")
