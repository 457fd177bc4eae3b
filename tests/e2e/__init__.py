"""Tests of kernels/e2e, the run of the plugin in a real engine, as far as no GPU is needed."""

from __future__ import annotations

import sys
from pathlib import Path

_KERNELS = str(Path(__file__).resolve().parents[2] / "kernels")
if _KERNELS not in sys.path:
    sys.path.append(_KERNELS)  # at the end: `tests` and `tools` are the repository's own
