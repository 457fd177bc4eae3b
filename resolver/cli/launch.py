"""`launch.py`: start the server. From the exec on, signals and exit status are the engine's own."""

from __future__ import annotations

from resolver.cli.before_start import to_start
from resolver.cli.options import Line


def run(line: Line) -> int:
    """Resolve, say what is launched, and become the engine. Returns only when nothing was started."""
    resolution = to_start(line)
    if isinstance(resolution, int):
        return resolution
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
