# SPDX-License-Identifier: Apache-2.0
"""Start a server, load it, watch what it holds and counts, stop it; all of it is written down as it happens.

In the folder: state.json (which process, which phase), progress.jsonl (a line every few seconds), server.log, result.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from e2e import readings, soak

PORT = 18020
BOOT, END = 900.0, 90.0
"""Seconds that a boot and an end may take."""
BEHIND = 150.0
"""Seconds that questions on their way may take to end."""


class Soak:
    """One server and its load. `run` does it; setting `stop` ends the load early. With `turns`, the load waits for all.timed there."""

    def __init__(self, launch: str, command: list[str], environ: dict[str, str], folder: Path, *, streams: int, seconds: float,
                 turns: Path | None = None, port: int = PORT, every: float = 5.0) -> None:
        self.launch, self.command, self.environ, self.folder = launch, command, environ, folder
        self.streams, self.seconds, self.turns, self.port, self.every = streams, seconds, turns, port, every
        self.stop = threading.Event()
        self.load: soak.Load | None = None
        self.up = self.begun = 0.0

    def run(self) -> dict[str, Any]:
        """Start, load, stop. Returns the result, which is in result.json too."""
        started = time.time()
        self._phase("booting")
        with open(self.folder / "server.log", "wb") as log:
            self.server = subprocess.Popen(self.command, env=self.environ, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True)
        result: dict[str, Any] = {"launch": self.launch, "kind": "soak", "wanted s": self.seconds, "seconds": 0.0, "streams": self.streams}
        try:
            up = self._boot(started)
            result["boot s"] = round(self.up - started, 1) if up else None
            if up and not self.stop.is_set():
                result |= self._loaded()
        finally:
            result |= self._end()
        result["memory"] = memory_kept(self.folder)
        _write(self.folder / "result.json", result)
        self._phase("ended")
        return result

    def _boot(self, started: float) -> bool:
        up = soak.wait_for(self.port, started + BOOT, lambda: self.server.poll() is None and not self.stop.is_set())
        self.up = time.time()
        if self.turns:
            (self.turns / ("server.up" if up else "server.dead")).touch()
        self._phase("up" if up else "not up")
        while up and self.turns and not (self.turns / "all.timed").exists() and not self.stop.is_set() and self.server.poll() is None:
            time.sleep(0.2)
        return up

    def _loaded(self) -> dict[str, Any]:
        about = json.loads(soak.get(self.port, "/v1/models") or '{"data": [{"id": "none"}]}')["data"][0]
        self._phase("loading")
        self.begun = time.time()
        self.load = soak.Load(self.port, about["id"], self.streams, self.begun + self.seconds, about.get("max_model_len", 32_768), self.stop)
        loading = threading.Thread(target=self.load.run, daemon=True)
        loading.start()
        ended = None
        while loading.is_alive() and (ended is None or time.time() < ended + BEHIND):
            self._progress()
            loading.join(self.every)
            if self.server.poll() is not None:
                self.stop.set()
            if ended is None and (self.stop.is_set() or time.time() > self.load.until):
                ended = time.time()
        seconds = (ended or time.time()) - self.begun
        return {"seconds": round(seconds, 1), **self.load.seen(), **({"hung": True} if loading.is_alive() else {})}

    def _progress(self) -> None:
        processes = readings.session(self.server.pid)
        record = {"at": round(time.time(), 1), "load s": round(time.time() - self.begun, 1), "alive": self.server.poll() is None,
                  **(self.load.seen() if self.load else {}), "processes": len(processes), **readings.memory(processes),
                  **readings.gpu_memory(processes), "server": readings.metrics(self.port)}
        with open(self.folder / "progress.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _end(self) -> dict[str, Any]:
        """Stop the server as a service manager would: SIGTERM to the process that was started, and to that one alone."""
        there = self.server.poll() is None
        out: dict[str, Any] = {"alive": there and soak.get(self.port, "/health", 20) is not None, "counted": readings.metrics(self.port), **log_errors(self.folder / "server.log")}
        if self.begun:
            self._progress()
        self._phase("stopping")
        told = time.time()
        if there:
            self.server.send_signal(signal.SIGTERM)
        try:
            self.server.wait(END)
        except subprocess.TimeoutExpired:
            out["killed"] = True
        out["stop s"] = round(time.time() - told, 1)
        left = [process for process in readings.session(self.server.pid) if process != self.server.pid]
        if left or "killed" in out:
            time.sleep(2)
            left = [process for process in readings.session(self.server.pid) if process != self.server.pid]
            for process in (*left, *([self.server.pid] if "killed" in out else [])):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        out["exit status"] = self.server.wait(20)
        return out | {"left behind": len(left)}

    def _phase(self, phase: str) -> None:
        say(self.folder, phase, self.launch, os.getpid())
        print(f"{time.strftime('%H:%M:%S')} {phase}", flush=True)


def say(folder: Path, phase: str, launch: str, process: int) -> None:
    """Write down what the process that loads the server does."""
    _write(folder / "state.json", {"pid": process, "phase": phase, "launch": launch, "since": round(time.time(), 1)})


def _write(path: Path, data: dict[str, Any]) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def log_errors(log: Path) -> dict[str, Any]:
    """How many lines of the server's log tell of an error, and the first ones."""
    found = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if re.search(r"\bERROR\b|Traceback", line)]
    return {"log errors": len(found), "first log errors": [line[:200] for line in found[:3]]}


def progress(folder: Path) -> list[dict[str, Any]]:
    """All lines that were written whole."""
    path = folder / "progress.jsonl"
    out = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            out.append(json.loads(line))
        except ValueError:
            continue
    return out


def memory_kept(folder: Path) -> dict[str, Any]:
    """What the server held after a tenth of the load, half of it, and at its end: a leak would show."""
    lines = progress(folder)
    if not lines:
        return {}
    keys = ("load s", "rss_mib", "anon_mib", "gpu_mib", "processes")
    places = {"after a tenth": len(lines) // 10, "after half": len(lines) // 2, "at the end": len(lines) - 1}
    return {name: {key: lines[place].get(key) for key in keys} for name, place in places.items()}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def state(folder: Path) -> dict[str, Any] | None:
    """Which process loads the server, and what it does."""
    return _read(folder / "state.json")


def result(folder: Path) -> dict[str, Any] | None:
    """The result, once there is one."""
    return _read(folder / "result.json")


def lives(folder: Path) -> bool:
    """Whether the process that loads the server is there."""
    found = state(folder)
    try:
        return found is not None and b"soak" in (readings.PROC / str(found["pid"]) / "cmdline").read_bytes()
    except OSError:
        return False


def last(folder: Path) -> dict[str, Any]:
    """The phase and the last line of progress, what the server counts among it."""
    line = (progress(folder) or [{}])[-1]
    return {**line.get("server", {}), **line, "phase": (state(folder) or {}).get("phase")}


def status(found: dict[str, Any]) -> int:
    """0 when the server lived through all of the load, answered all of it rightly and ended when told to; else 1."""
    met = found["alive"] and found["seconds"] >= found["wanted s"] and not found.get("failed") and not found.get("hung")
    return 0 if met and not found.get("killed") and not found["left behind"] else 1
