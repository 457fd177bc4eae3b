"""A launch that a launcher owns, for the tests of ownership."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from resolver.serving.ownership import records
from resolver.serving.ownership.recipe import Recipe

RECIPE = Recipe(
    "mtp-long", "launch.py serve --profile mtp-long", "0123456789abcdef", "0.31.0", "/srv/product", ("venv/bin/vllm", "serve"), {"A": "1"},
    ("B",), {"CUDA_VISIBLE_DEVICES": "1"}, False, "127.0.0.1", 8000, "qwen", "/m", True, False,
)  # fmt: skip
Sleeper = Callable[..., subprocess.Popen[bytes]]


def record_of() -> records.Record:
    return records.new(RECIPE, ("cpu", "port-8000"), "starting", RECIPE)
