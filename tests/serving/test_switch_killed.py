"""A launcher that is killed at any moment of a switch: the old server runs, or the new one, or none; the next start says which."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.serving_cli import Serve, until
from tests.serving.switch_cli import Bench

SEED = 11
ROUNDS, FEW = 20, 7


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.end()


def what_runs(bench: Bench, old: Serve) -> Serve | None:
    """The server that runs once all is quiet: the one from before the switch, or none. A killed launcher's own does not stay."""
    assert until(lambda: len(bench.engines()) == (1 if old.process.poll() is None else 0), 30), bench.engines()
    return old if old.process.poll() is None else None


def moments(began: float, ended: float, rounds: int) -> list[float]:
    """Seeded moments over the length of a switch, one in each of as many parts, in any order."""
    chance = random.Random(SEED)
    part = (ended - began) / rounds
    found = [began + part * (number + chance.random()) for number in range(rounds)]
    chance.shuffle(found)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [FEW, pytest.param(ROUNDS, marks=pytest.mark.slow)])
def test_killed_at_any_moment_of_a_switch(bench: Bench, rounds: int) -> None:
    old = bench.ready()
    begun = time.monotonic()
    new = bench.serve("--switch")
    new.wait_for("stopping cpu-tiny")
    stopping = time.monotonic() - begun
    new.wait_for("ready: qwen3.8-27b on")
    length = time.monotonic() - begun
    assert old.end() == 0
    running: Serve | None = new
    seen: set[str] = set()
    for moment in moments(stopping * 0.8, length * 1.1, rounds):
        if running is None:
            running = bench.ready("--switch")
        port = running.port
        killed = bench.serve("--switch", "MAX_SEQS=2")
        time.sleep(moment)
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.process.wait()
        if "stopping cpu-tiny" in killed.said():
            until(lambda one=running: one.process.poll() is not None, 1.0)  # it may have been told to stop, or not yet
        running = what_runs(bench, running)
        cut = [record for record in bench.records() if record["launcher"]["pid"] == killed.process.pid]
        after = bench.serve("--switch", "MAX_SEQS=3")
        after.wait_for("ready: qwen3.8-27b on")
        said = after.said()
        if cut:
            phase = cut[0]["phase"]
            seen.add(phase)
            now = f"cpu-tiny runs, on http://127.0.0.1:{port}" if running else "no server runs"
            assert f"(process {killed.process.pid}) " in said, said
            assert f": {now}" in said, said
        assert ("stopping cpu-tiny, serving on" in said) == (running is not None), said
        assert len(bench.engines()) == 1
        running = after
    assert {"waiting", "starting"} <= seen, f"the moments were not spread over the switch: {seen}"


def test_a_reboot_is_told_from_a_crash(bench: Bench) -> None:
    old = bench.ready()
    (path,) = (bench.state / "servers").glob("server-*.json")
    text = path.read_text()
    old.signal(signal.SIGKILL)
    old.end()
    assert until(lambda: not bench.engines())
    path.write_text(text.replace(Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "another-boot"))
    new = bench.ready()
    assert (
        f"the launcher of cpu-tiny (process {old.process.pid}) ended before this machine was started again"
        in new.said()
    )
    assert "while serving: no server runs" in new.said()


def test_a_number_that_another_process_has_now_is_not_believed(bench: Bench) -> None:
    old = bench.ready()
    (path,) = (bench.state / "servers").glob("server-*.json")
    text = path.read_text()
    old.signal(signal.SIGKILL)
    old.end()
    assert until(lambda: not bench.engines())
    path.write_text(
        text.replace(f'"pid": {old.process.pid}', f'"pid": {os.getpid()}')
    )  # this very process, started earlier
    new = bench.ready("--switch")
    assert "no server runs" in new.said()
    assert "stopping cpu-tiny" not in new.said()
