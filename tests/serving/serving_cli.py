"""Runs `launch.py serve` as a process and looks at what is left of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def runs(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def shared() -> set[str]:
    """The names in shared memory."""
    return set(os.listdir("/dev/shm"))


def until(condition: object, seconds: float = 20.0) -> bool:
    """Wait until a function says yes."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


class Serve:
    """A running `launch.py serve`, on a venv, with its streams in files."""

    def __init__(self, folder: Path, venv: Path, *words: str, **variables: str) -> None:
        self.port, self.folder = free_port(), folder
        self.temporary = Path(
            tempfile.mkdtemp(prefix="sv-", dir="/tmp")
        )  # short: a socket's path has 107 characters at most
        self.out, self.err, self.log = folder / "out", folder / "err", folder / "engine.log"
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "PYTHONPATH": str(REPO),
            "PORT": str(self.port),
            "HOST": "127.0.0.1",
            "ENGINE_VENV": str(venv),
            "LAUNCH_STATE_DIR": str(folder / "state"),
            "TMPDIR": str(self.temporary),
            **variables,
        }
        for name in ("LAUNCH_CACHE_DIR", "XDG_CACHE_HOME"):
            if name in os.environ:
                env.setdefault(name, os.environ[name])
        command = [sys.executable, str(REPO / "launch.py"), "serve", "--profile", "cpu-tiny", *words]
        if "--log" not in words:
            command[5:5] = ["--log", str(self.log)]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    def said(self) -> str:
        """All of standard error so far."""
        return self.err.read_text(errors="replace")

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        """Wait until standard error holds a text."""
        assert until(lambda: text in self.said() or self.process.poll() is not None, seconds), self.said()
        assert text in self.said(), self.said()

    def tree(self) -> list[int]:
        """The processes below the launcher."""
        from resolver.serving.supervise_tree import below

        return below(self.process.pid)

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Signal the launcher alone."""
        os.kill(self.process.pid, number)

    def end(self, seconds: float = 60.0) -> int:
        """Wait for the end. Returns the exit status."""
        return self.process.wait(seconds)

    def left(self) -> list[str]:
        """What is left in its folder of temporary files; torch's cache of compiled code is there to stay."""
        return sorted(name for name in os.listdir(self.temporary) if not name.startswith("torchinductor_"))
