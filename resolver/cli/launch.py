"""`launch.py`: start the server. From the exec on, signals and exit status are the engine's own."""

from __future__ import annotations

from resolver.cli.before_start import to_start
from resolver.cli.options import Line
from resolver.cli.start import say


def run(line: Line) -> int:
    """Resolve, say what is launched, and become the engine. Returns only when nothing was started."""
    resolution = to_start(line)
    if isinstance(resolution, int):
        return resolution
    from resolver.serving import launch, plain, secrets
    from resolver.serving.environment import engine_environment
    from resolver.shown import clean

    root = resolution.resolver.root
    launch.engine_path(resolution.argv[0], root)
    environ = engine_environment(resolution, root)
    plain.own(resolution, environ, lambda text: say(clean(text) + "\n"))
    launch.launch(
        resolution.argv,
        environ,
        root,
        keep_regions=resolution.lookup("vllm_offload_keep_shm") == "on",
        key_file=root / secrets.FILE,
        key_needed=resolution.setting("api_key_source") is not None,
    )
