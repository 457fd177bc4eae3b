"""What does every probe start from? Where things are, the caller's environment, and a way to say "unknown"."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class Unknown(Exception):
    """A fact cannot be found out; the text is the reason that is shown."""


@dataclass(frozen=True)
class World:
    """Where a probe looks. Tests give another one.

    Attributes:
        root: the product's root folder.
        environ: the caller's environment.
        system: prefix of absolute paths such as /proc ("/" on a real machine).
        plugins: file that says which distributions are which plugins.
        wait: seconds after which a helper program or a driver counts as hung.
    """

    root: Path
    environ: Mapping[str, str]
    system: Path = Path("/")
    plugins: Path = Path(__file__).resolve().parents[3] / "rules/plugins.yaml"
    wait: float = 5.0

    @property
    def venv(self) -> Path:
        """The engine's environment: ENGINE_VENV, or venv in the root."""
        return self.root / (self.environ.get("ENGINE_VENV") or "venv")

    def at(self, path: str) -> Path:
        """Return an absolute path of the system as seen from `system`."""
        return self.system / path.lstrip("/")

    def program(self, name: str, *beside: str) -> str | None:
        """Return a program's path: the first on PATH, else the first of `beside` that can be run; None when missing."""
        folders = [folder for folder in self.environ.get("PATH", "").split(os.pathsep) if folder]
        for path in [*(os.path.join(folder, name) for folder in folders), *(str(self.at(other)) for other in beside)]:
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None


def output(world: World, words: list[str], must_succeed: bool = True) -> str:
    """Return what a program prints; with `must_succeed` only if its exit status is 0.

    Raises:
        Unknown: it cannot be started, hangs or fails.
    """
    name = os.path.basename(words[0])
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            timeout=world.wait,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**world.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise Unknown(f"{name} did not answer within {world.wait:g} s") from None
    except OSError as error:
        raise Unknown(f"{name} cannot be started: {error.strerror}") from None
    text = done.stdout.decode("utf-8", errors="replace")
    if done.returncode and must_succeed:
        said = (text + done.stderr.decode("utf-8", errors="replace")).strip().splitlines()
        raise Unknown(f"{name} failed with status {done.returncode}" + (f": {said[0][:200]}" if said else ""))
    return text
