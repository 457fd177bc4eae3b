"""Several `launch.py serve` on one state folder, with a stand-in for vLLM, and somebody who counts engines all the time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.serving.serving_cli import REPO, Serve, free_port, runs, until
from tools.cpu_engine import tiny_model


class Bench:
    """One machine: an engine, a model, a state folder, and the servers that were started on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.pids = folder, folder / "state", folder / "pids"
        self.started: list[Serve] = []
        self.most = 0
        self._over = threading.Event()
        self.venv = folder / "venv"
        (self.venv / "bin").mkdir(parents=True)
        script = self.venv / "bin/vllm"
        script.write_text(f"#!{sys.executable}\n" + (REPO / "tests/serving/fake_engine.py").read_text())
        script.chmod(0o755)
        about = self.venv / "lib/python3.11/site-packages/vllm-0.31.0+cpu.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.31.0+cpu\n")
        tiny_model.make(folder / "tiny")
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def variables(self) -> dict[str, str]:
        """What makes a launch one of this machine."""
        return {
            "PYTHONPATH": str(REPO),
            "ENGINE_VENV": str(self.venv),
            "LAUNCH_STATE_DIR": str(self.state),
            "MODEL": str(self.folder / "tiny"),
            "FAKE_PIDS": str(self.pids),
        }

    def serve(self, *words: str, port: int | None = None, **variables: str) -> Serve:
        """Start `launch.py serve`; a port of its own unless one is named."""
        place = self.folder / f"serve-{len(self.started)}"
        place.mkdir()
        variables = {**self.variables(), "PORT": str(port or free_port()), **variables}
        serve = Serve(place, self.venv, *words, **variables)
        serve.port = int(variables["PORT"])
        self.started.append(serve)
        return serve

    def ready(self, *words: str, **variables: str) -> Serve:
        """The same, once it is ready."""
        serve = self.serve(*words, **variables)
        serve.wait_for("ready: qwen3.8-27b on")
        return serve

    def launch(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of launch.py to its end."""
        env = {**os.environ, **self.variables(), "HOST": "127.0.0.1", "PORT": str(free_port()), **variables}
        command = [sys.executable, str(REPO / "launch.py"), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def engines(self) -> list[int]:
        """The engines that run now."""
        found = [int(line) for line in self.pids.read_text().split()] if self.pids.exists() else []
        return [pid for pid in found if runs(pid)]

    def records(self) -> list[dict[str, Any]]:
        """What is written down of servers."""
        return [json.loads(path.read_text()) for path in sorted((self.state / "servers").glob("server-*.json"))]

    def _watch(self) -> None:
        while not self._over.is_set():
            self.most = max(self.most, len(self.engines()))
            time.sleep(0.01)

    def end(self) -> None:
        """Stop what runs. Nothing may be left, and there never were two."""
        for serve in self.started:
            if serve.process.poll() is None:
                serve.process.terminate()
        for serve in self.started:
            serve.process.wait(60)
        assert until(lambda: not self.engines()), "engines are left"
        self._over.set()
        self._watcher.join()
        assert self.most <= 1, f"there were {self.most} engines at once"
