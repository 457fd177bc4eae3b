"""`launch.py`: start the server. From the exec on, signals and exit status are the engine's own."""

from __future__ import annotations

from resolver.cli import suggesting
from resolver.cli.ask import ask
from resolver.cli.options import Line
from resolver.cli.resolve import level_of
from resolver.cli.start import OK, REFUSED, put
from resolver.views.page import stderr_page
from resolver.views.terminal import show_resolution


def run(line: Line) -> int:
    """Resolve, say what is launched, and become the engine. Returns only when nothing was started."""
    answer = suggesting.applied(line, ask(line))
    resolution = answer.resolution
    show_resolution(resolution, stderr_page(), level_of(line), answer.notes, command=False)
    if resolution.refused:
        suggesting.show(line, answer, stderr_page())
        return REFUSED
    if resolution.lookup("print_argv") == "on":
        from resolver.views.formats import argv_lines

        put(argv_lines(resolution))
        return OK
    from resolver.serving import launch, secrets
    from resolver.serving.environment import engine_environment

    root = resolution.resolver.root
    launch.launch(
        resolution.argv,
        engine_environment(resolution, root),
        root,
        keep_regions=resolution.lookup("vllm_offload_keep_shm") == "on",
        key_file=root / secrets.FILE,
        key_needed=resolution.setting("api_key_source") is not None,
    )
