"""Which CUDA compilers are at hand? The one on PATH, and the one in the engine's environment (R4)."""

from __future__ import annotations

import os
import re
from pathlib import Path

from resolver.serving.probes.basis import Unknown, World, output

RELEASE = re.compile(r"release (\d+)\.")


def nvcc_major(world: World) -> int:
    """Return the major release of the nvcc on PATH: 0 when there is none, or its text names no release (R4).

    Raises:
        Unknown: nvcc is there and hangs or cannot be started.
    """
    program = world.program("nvcc")
    if program is None:
        return 0
    found = RELEASE.search(output(world, [program, "--version"], must_succeed=False))
    return int(found[1]) if found else 0


def cuda13_home(world: World) -> str | None:
    """Return the CUDA 13 toolchain of the engine's environment, or None when its bin/nvcc cannot be run.

    Only the first match counts, in the order of the names, whether or not it qualifies (R4).
    """
    pattern = "lib/python3*/site-packages/nvidia/cu13"
    try:
        matches = sorted(str(path) for path in world.venv.glob(pattern))
    except OSError as error:
        raise Unknown(f"{world.venv} cannot be searched: {error.strerror}") from None
    if not matches:
        return None
    nvcc = Path(matches[0]) / "bin/nvcc"
    return matches[0] if nvcc.is_file() and os.access(nvcc, os.X_OK) else None
