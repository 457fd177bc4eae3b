"""Fake machines for the probe, and processes that wait."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving.probes.basis import World
from tests.serving.owned import Sleeper

Script = Callable[[str, str], Path]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A Linux machine with nothing on it: no card, no driver, no programs, no engine."""
    monkeypatch.setitem(sys.modules, "pynvml", None)  # the real one would tell of this machine's own cards
    system, root = tmp_path / "system", tmp_path / "root"
    for folder in ("proc/sys/kernel", "dev/shm", "run", "bin"):
        (system / folder).mkdir(parents=True)
    (system / "proc/sys/kernel/osrelease").write_text("6.8.0-49-generic\n")
    root.mkdir()
    table = tmp_path / "plugins.yaml"
    table.write_text(
        "# names\nplugins:\n  pth_flash_attn: [pth-flash-attn]\n  fa2_fp8kv: [fa2-fp8kv, fa2_kv.fp8]\n"
        "overlays:\n  hyperqwen-0.31: [hyperqwen, +hyperqwen]\n"
    )
    return World(root, {"PATH": str(system / "bin")}, system, table, wait=2.0)


@pytest.fixture
def script(world: World) -> Script:
    """Put a program on the fake machine's PATH."""

    def put(name: str, body: str) -> Path:
        path = world.at(f"/bin/{name}")
        path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
        path.chmod(0o755)
        return path

    return put


@pytest.fixture
def package(world: World) -> Callable[..., Path]:
    """Put a distribution's metadata into the fake engine's environment."""

    def put(name: str, version: str = "1.0", python: str = "python3.11", metadata: bool = True) -> Path:
        folder = world.venv / f"lib/{python}/site-packages/{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        if metadata:
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return folder

    return put


def with_environ(world: World, **variables: str) -> World:
    """Return the same machine with more variables."""
    return replace(world, environ={**world.environ, **variables})


def forbid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a path unreadable, for root too: its mode where that is enough, else by the calls that look at it."""
    real_scandir, real_access = os.scandir, os.access

    def scandir(place: str | Path) -> object:
        if Path(place) == path:
            raise PermissionError(13, "Permission denied", str(place))
        return real_scandir(place)

    def access(place: str | Path, mode: int) -> bool:
        return Path(place) != path and real_access(place, mode)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "access", access)


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    """Starts processes that wait, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(code: str = "import time; time.sleep(60)", **more: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", code], **more))  # type: ignore[call-overload]
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()
