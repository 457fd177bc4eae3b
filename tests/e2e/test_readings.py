"""What is read of a server from outside: its processes, their memory, its GPU's memory, what it counts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.e2e import loaded_server

from e2e import readings  # isort: skip  (tests.e2e makes it importable)

LAST = "import sys; sys.stdin.read()"
CHILD = f"""
import subprocess, sys
other = subprocess.Popen([sys.executable, '-c', {LAST!r}])
print('up', flush=True)
sys.stdin.read()
other.wait()
"""


def test_the_processes_of_a_session_and_their_memory() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = readings.session(child.pid)
        assert found[0] == child.pid
        assert len(found) == 2
        held = readings.memory(found)
        assert held["rss_mib"] >= held["anon_mib"] > 0
        assert os.getpid() not in found
        child.communicate()
    assert readings.session(child.pid) == []


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert readings.memory([2**22 + 1]) == {"rss_mib": 0, "anon_mib": 0}


def smi(folder: Path, apps: str, status: int = 0) -> None:
    body = f"case $1 in *apps*) printf '{apps}';; *) printf '5000\\n';; esac; exit {status}"
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "nvidia-smi").chmod(0o755)


@pytest.mark.parametrize(
    ("apps", "status", "found"),
    [
        ("12, 300\\n13, 40\\n99, 7\\n", 0, {"gpu_mib": 340, "gpu_all_mib": 5000}),
        ("99, 7\\n", 0, {"gpu_mib": None, "gpu_all_mib": 5000}),
        ("12, [N/A]\\n", 0, {"gpu_mib": None, "gpu_all_mib": 5000}),
        ("", 9, {"gpu_mib": None, "gpu_all_mib": None}),
    ],
)
def test_the_gpus_memory(
    apps: str, status: int, found: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(tmp_path, apps, status)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert readings.gpu_memory([12, 13]) == found


def test_no_tool_that_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert readings.gpu_memory([1]) == {"gpu_mib": None, "gpu_all_mib": None}


def test_what_the_server_counts() -> None:
    server = loaded_server.Server(("127.0.0.1", 0), loaded_server.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert readings.metrics(server.server_address[1]) == {"preemptions": 3.0, "waiting": 4.0, "pool used": 0.25}
    finally:
        server.shutdown()
    server.server_close()
    assert readings.metrics(server.server_address[1]) == {}
