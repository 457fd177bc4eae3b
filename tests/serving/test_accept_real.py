"""The CPU engine put to the whole battery: accepted, with a key, and with every check that a CPU can be asked.

`make engine` installs it; CPU_ENGINE_VENV names another place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.serving_cli import REPO, free_port
from tools.cpu_engine import install, tiny_model

VENV = Path(os.environ.get("CPU_ENGINE_VENV") or REPO / "venv-cpu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.engine,
    pytest.mark.skipif(not install.is_installed(VENV), reason=f"no CPU engine in {VENV}: run `make engine`"),
    pytest.mark.timeout(600),
]
KEY = "sk-of-the-real-engine"


def test_accepted(tmp_path: Path) -> None:
    model, state = tmp_path / "tiny", tmp_path / "state"
    tiny_model.make(model)
    done = subprocess.run(
        [sys.executable, str(REPO / "launch.py"), "accept", "--profile", "cpu-tiny", "--json"],
        env={
            **os.environ,
            "ENGINE_VENV": str(VENV),
            "MODEL": str(model),
            "HOST": "127.0.0.1",
            "PORT": str(free_port()),
            "LAUNCH_STATE_DIR": str(state),
            "VLLM_API_KEY": KEY,
            "VLLM_NO_USAGE_STATS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    checks = {check["name"]: check for check in verdict["checks"]}
    assert verdict["accepted"] is True
    assert {name for name, check in checks.items() if check["passed"] is None} == {"known answers", "free memory"}
    assert "384 of 512 tokens from the cache" in checks["prefix hit"]["detail"]
    assert checks["full batch"]["detail"].startswith("4 at once, up to ")
    assert checks["long prompt"]["detail"].startswith("2,031 of 2,048 tokens")
    assert checks["key required"]["detail"].startswith("401 without it; /metrics, /version, /tokenize open")
    assert checks["tool call"]["detail"].startswith("get_time(")
    assert "2,048 tokens" in checks["engine's own log"]["detail"]
    assert verdict["engine"] == verdict["provenance"]["engine"] == "0.31.0"
    for path in (*state.rglob("*.json"), *state.rglob("*.log")):
        assert KEY not in path.read_text()
