"""How fast is the command line? `python -m tests.cli.speed` prints what the speed goals ask for; tests/bench may call the functions."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from resolver.cli.batch import Batch, results
from resolver.cli.options import Line

REPO = Path(__file__).resolve().parents[2]
COLD = ("resolve", "--machine", "rtx-3090", "--profile", "dflash2-long")


@dataclass(frozen=True)
class Runs:
    """Seconds of several runs of one command, by the clock and by the processor."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    def __str__(self) -> str:
        shown = (1000 * x for x in (min(self.wall), median(self.wall), min(self.cpu), median(self.cpu)))
        return "wall min {:.0f} ms, median {:.0f} ms; processor min {:.0f} ms, median {:.0f} ms".format(*shown)


def run_seconds(words: tuple[str, ...], count: int = 20, env: dict[str, str] | None = None) -> Runs:
    """Time a command in processes of its own; the first run, which fills the cache, is not counted."""
    wall, cpu = [], []
    environ = {**os.environ, **(env or {})}
    for number in range(count + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, *words], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
        )
        if number:
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            wall.append(time.perf_counter() - began)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Runs(tuple(wall), tuple(cpu))


def cold_start(count: int = 20) -> Runs:
    """`launch.py resolve --machine ...` with a filled cache."""
    return run_seconds((str(REPO / "launch.py"), *COLD), count)


def bare_python(count: int = 20) -> Runs:
    """What Python itself takes."""
    return run_seconds(("-c", "pass"), count)


def first_run() -> float:
    """Seconds of a run with an empty cache."""
    environ = {**os.environ, "LAUNCH_CACHE_DIR": ""}
    began = time.perf_counter()
    words = [sys.executable, str(REPO / "launch.py"), *COLD]
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


@dataclass(frozen=True)
class Rate:
    """Requests a second, by the clock and by the processor."""

    wall: float
    cpu: float


def batch_rate(count: int = 3000) -> Rate:
    """How many requests one process answers in a second, rules and machines loaded; a mix of ten requests."""
    profiles = (
        "mtp-fast",
        "mtp-long",
        "mtp-huge",
        "dflash2-fast",
        "dflash2-long",
        "dflash2-huge",
        "off-fast",
        "off-long",
    )
    shapes: list[dict[str, Any]] = [{"profile": p, "machine": "rtx-3090"} for p in profiles]
    shapes.append({"profile": "mtp-fast", "machine": "rtx-4090", "knobs": {"MAX_SEQS": 4}, "args": ["--seed", "7"]})
    shapes.append(
        {"profile": "mtp-long", "machine": "h200", "knobs": {"PREFIX_CACHE": 0}, "env": {"HF_HOME": "/tmp/hf"}}
    )
    lines = [json.dumps({"id": i, **shapes[i % len(shapes)]}).encode() for i in range(count)]
    batch = Batch(Line())
    for _ in results(batch, lines[: len(shapes)]):
        pass
    wall, cpu = time.perf_counter(), time.process_time()
    answered = sum(1 for _ in results(batch, lines))
    return Rate(answered / (time.perf_counter() - wall), answered / (time.process_time() - cpu))


if __name__ == "__main__":
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"bare Python:          {bare_python()}")
    print(f"cold resolve:         {cold_start()}")
    print(f"first run, no cache:  {1000 * first_run():.0f} ms")
    rates = [batch_rate() for _ in range(3)]
    best = max(rates, key=lambda rate: rate.cpu)
    print(f"batch:                {best.wall:.0f} requests/s by the clock, {best.cpu:.0f} by the processor")
