"""Run launch.py as a process of its own, with a cache of the suite's own and none of the caller's knobs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SECRET = "sk-planted-7f3a9c2e51"


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    status: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


class Cli:
    """Runs launch.py."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    def environ(self, env: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """A plain environment; None removes a variable."""
        base = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "LAUNCH_CACHE_DIR": str(self.cache),
            "LAUNCH_STATE_DIR": str(self.cache / "state"),
        }
        merged = base | dict(env or {})
        return {k: v for k, v in merged.items() if v is not None}

    def run(
        self,
        *words: str | bytes,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes | None = None,
        python: Sequence[str] = (sys.executable,),
        program: str | Path = REPO / "launch.py",
        cwd: str | Path | None = None,
        timeout: float = 60,
    ) -> Ran:
        """Run it to its end. No run may show a traceback or the planted secret."""
        done = subprocess.run(
            [*python, str(program), *words],
            env=self.environ(env),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        assert "Traceback" not in ran.all, ran.all
        assert SECRET not in ran.all, "the planted secret is shown"
        return ran


@pytest.fixture(scope="session")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """One cache for the session: filled by the first run."""
    return Cli(tmp_path_factory.mktemp("cache"))
