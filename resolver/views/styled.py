"""The page on a terminal, drawn by rich: imported on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from resolver.views.page import STYLES, clean


class StyledPage:
    """Draws into text first, so that every write passes the product's own streams."""

    def __init__(self, write: Callable[[str], None], color: bool, width: int) -> None:
        self.write = write
        self.color = color
        self.width = width

    def _draw(self, thing: object) -> None:
        buffer = StringIO()
        console = Console(
            file=buffer,
            force_terminal=self.color,
            color_system="standard" if self.color else None,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        console.print(thing)
        self.write("\n".join(line.rstrip() for line in buffer.getvalue().split("\n")))

    def verbatim(self, text: str) -> None:
        self.write(clean(text) + "\n")

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        body = Text(clean(text), style=STYLES.get(style, style), overflow="fold")
        self._draw(Padding(body, (0, 0, 0, indent)) if indent else body)

    def pairs(self, rows: Sequence[tuple[str, str]], indent: int = 0) -> None:
        if not rows:
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=self.width >= 60)
        grid.add_column(overflow="fold")
        for key, value in rows:
            grid.add_row(Text(clean(key)), Text(clean(value)))
        self._draw(Padding(grid, (0, 0, 0, indent)) if indent else grid)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), show_edge=False)
        for title in head:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*(Text(clean(cell)) for cell in row))
        self._draw(table)
