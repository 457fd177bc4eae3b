"""What `launch.py` and `launch.py serve` do alike before anything starts: resolve, say what is launched, and stop where nothing is to be."""

from __future__ import annotations

from resolver.cli import suggesting
from resolver.cli.ask import ask
from resolver.cli.options import Line
from resolver.cli.resolve import level_of
from resolver.cli.start import OK, REFUSED, put
from resolver.resolution import Resolution
from resolver.views.fit_note import memory_notes
from resolver.views.page import stderr_page
from resolver.views.terminal import show_resolution


def to_start(line: Line) -> Resolution | int:
    """The launch that is to be started; or the exit status, where it was refused or only its words were wanted (PRINT_ARGV)."""
    answer = suggesting.applied(line, ask(line))
    resolution = answer.resolution
    notes = (*answer.notes, *memory_notes(resolution))
    show_resolution(resolution, stderr_page(), level_of(line), notes, command=False)
    if resolution.refused:
        suggesting.show(line, answer, stderr_page())
        return REFUSED
    if resolution.lookup("print_argv") == "on":
        from resolver.views.formats import argv_lines

        put(argv_lines(resolution))
        return OK
    return resolution
