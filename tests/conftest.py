"""Settings of the whole suite: how many examples the fuzzing suite tries (HYPOTHESIS_PROFILE=ci, all or fuzz), and where its cache is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A suite that was started in the background has Ctrl-C ignored, and every process it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

_COMMON = {"deadline": None, "print_blob": True, "suppress_health_check": list(HealthCheck)}

settings.register_profile("ci", max_examples=300, derandomize=True, **_COMMON)
settings.register_profile("all", max_examples=5000, **_COMMON)
settings.register_profile("fuzz", max_examples=100_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "ci")


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    place = tmp_path / "cache"
    monkeypatch.setenv("LAUNCH_CACHE_DIR", str(place))
    return place
