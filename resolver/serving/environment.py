"""What environment does the engine get? The resolved one, with its own bin folder first on PATH (R115)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def engine_environment(resolution: Resolution, root: Path) -> dict[str, str]:
    """Return the whole environment of the engine. It holds the caller's secrets: it is executed, never printed.

    Args:
        resolution: the resolved launch.
        root: the folder that the launch's first word is looked up from.
    """
    environ = resolution.environment()
    front = os.path.dirname(os.path.abspath(root / resolution.argv[0]))
    path = environ.get("PATH")
    environ["PATH"] = f"{front}:{path}" if path else front
    return environ
