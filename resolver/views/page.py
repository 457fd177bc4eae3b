"""A page of text for people: plain words, or styled and width-aware on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from resolver.shown import clean

STYLES = {
    "refuse": "bold red",
    "error": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "good": "bold green",
    "dim": "dim",
}


__all__ = ["Page", "PlainPage", "clean", "dump", "page", "stderr_page", "stdout_page"]


class Page(Protocol):
    """What a view needs: lines in a style, lists of pairs, tables, and text that must stay as it is to be copied."""

    width: int

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None: ...

    def pairs(self, rows: Sequence[tuple[str, str]], indent: int = 0) -> None: ...

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None: ...

    def verbatim(self, text: str) -> None: ...


def page(stream: TextIO | None, write: Callable[[str], None]) -> Page:
    """The page for a stream: styled when it is a terminal and rich is there, else plain."""
    if stream is not None and _is_terminal(stream):
        try:
            from resolver.views.styled import StyledPage

            return StyledPage(
                write, color="NO_COLOR" not in os.environ or not os.environ["NO_COLOR"], width=_width(stream)
            )
        except ImportError:
            return PlainPage(write)
    return PlainPage(write)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    except ValueError:
        return False


def _width(stream: TextIO) -> int:
    try:
        return max(20, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return 80


class PlainPage:
    """Plain text: one finding a line, nothing wrapped, so that it can be searched."""

    width = 110

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write

    def verbatim(self, text: str) -> None:
        self.write(clean(text) + "\n")

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        self.write(f"{' ' * indent}{clean(text)}".rstrip() + "\n")

    def pairs(self, rows: Sequence[tuple[str, str]], indent: int = 0) -> None:
        wide = max((len(clean(key)) for key, _ in rows), default=0)
        for key, value in rows:
            self.line(f"{clean(key):<{wide}}  {value}", indent=indent)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        cells = [[clean(cell) for cell in row] for row in (head, *rows)]
        wide = [max(len(row[i]) for row in cells) for i in range(len(head))]
        for row in cells:
            self.write("  ".join(cell.ljust(wide[i]) for i, cell in enumerate(row)).rstrip() + "\n")


def stderr_page() -> Page:
    """The page on standard error."""
    from resolver.cli.start import say

    return page(sys.stderr, say)


def stdout_page() -> Page:
    """The page on standard output."""
    from resolver.cli.start import put

    return page(sys.stdout, put)


def dump(data: Any) -> str:
    """Data as JSON for people and programs, with ASCII characters only, so that it passes through every locale."""
    import json

    return json.dumps(data, indent=2) + "\n"
