"""WSL, containers, room in /dev/shm, the key file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.serving.probe import Findings, ask, questions
from resolver.serving.probes.basis import World
from tests.serving.conftest import with_environ


def look(world: World, name: str) -> tuple[object, str | None]:
    found: Findings = ask({name: questions(world)[name]})
    return found.facts[name], found.why.get(name)


@pytest.mark.parametrize(
    ("release", "name", "wsl"),
    [
        ("6.8.0-49-generic", None, False),
        ("5.15.153.1-microsoft-standard-WSL2", None, True),
        ("4.4.0-19041-Microsoft", None, True),
        ("5.10-MICROSOFT-x", None, True),
        ("6.8.0-49-generic", "Ubuntu", True),
        ("6.8.0-49-generic", "", False),
        ("6.8.0-WSL2", None, False),
    ],
)
def test_wsl(world: World, release: str, name: str | None, wsl: bool) -> None:
    world.at("/proc/sys/kernel/osrelease").write_text(release + "\n")
    assert look(world if name is None else with_environ(world, WSL_DISTRO_NAME=name), "wsl") == (wsl, None)


def test_wsl_is_unknown_without_the_release(world: World) -> None:
    world.at("/proc/sys/kernel/osrelease").unlink()
    value, why = look(world, "wsl")
    assert value is None
    assert why
    assert "cannot be read" in why
    assert look(with_environ(world, WSL_DISTRO_NAME="Debian"), "wsl") == (True, None)


@pytest.mark.parametrize("sign", [None, "/.dockerenv", "/run/.containerenv"])
def test_container(world: World, sign: str | None) -> None:
    if sign:
        world.at(sign).write_text("")
    assert look(world, "container") == (sign is not None, None)


def test_container_is_unknown_where_a_look_is_forbidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "lstat", refuse)
    value, why = look(world, "container")
    assert value is None
    assert why
    assert "Permission denied" in why


def test_shm(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen:
        f_bavail, f_bfree, f_frsize, f_bsize = 1000, 2000, 4096, 512

    monkeypatch.setattr(os, "statvfs", lambda path: Seen)
    assert look(world, "shm_free_bytes") == (4_096_000, None)  # what a user may take, not what root could


def test_no_shm_is_unknown(world: World) -> None:
    world.at("/dev/shm").rmdir()
    value, why = look(world, "shm_free_bytes")
    assert value is None
    assert why
    assert "/dev/shm" in why


@pytest.mark.parametrize(("content", "there"), [(None, False), ("key\n", True), ("\n", False), ("", False)])
def test_key_file(world: World, content: str | None, there: bool) -> None:
    if content is not None:
        (world.root / "api_key.txt").write_text(content)
    assert look(world, "api_key_file") == (there, None)


def test_a_key_file_that_cannot_be_read_is_unknown(world: World) -> None:
    (world.root / "api_key.txt").mkdir()
    value, why = look(world, "api_key_file")
    assert value is None
    assert why
    assert "cannot be read" in why


def test_the_key_is_in_no_finding(world: World) -> None:
    (world.root / "api_key.txt").write_text("sk-do-not-show-me")
    found = ask(questions(with_environ(world, VLLM_API_KEY="sk-nor-me")))
    assert "sk-" not in repr(found) + repr(found.document())


def test_a_mistake_of_ours_is_unknown_and_says_so() -> None:
    def wrong() -> str:
        raise KeyError("x")

    found = ask({"wsl": wrong, "container": lambda: True})
    assert found.facts == {"wsl": None, "container": True}
    assert found.why == {"wsl": "the probe itself failed (KeyError)"}
    assert set(found.seconds) == {"wsl", "container"}


def test_an_empty_machine_gives_a_whole_document(world: World, package: Callable[..., Path]) -> None:
    document = ask(questions(world)).document()
    assert document["engine"] is None
    assert document["facts"] == {
        "device": "cpu",
        "gpu": {"name": None, "capability": None, "count": 0, "vram_mib": None, "vram_free_mib": None, "driver": None},
        "wsl": False,
        "container": False,
        "host": {"memory_mib": None},
        "shm_free_bytes": document["facts"]["shm_free_bytes"],  # type: ignore[index]
        "nvcc_major": 0,
        "cuda13_home": None,
        "api_key_file": False,
        "installed": [],
    }
    package("vllm", "0.31.0+hyperqwen.3")
    assert ask(questions(world)).document()["engine"] == {"version": "0.31.0", "overlays": ["hyperqwen-0.31"]}


@pytest.mark.parametrize(
    ("text", "mib"),
    [("MemTotal:       24576000 kB\nMemFree: 1 kB\n", 24000), ("MemFree: 1 kB\n", None), ("MemTotal: much\n", None)],
)
def test_memory(world: World, text: str, mib: int | None) -> None:
    world.at("/proc/meminfo").write_text(text)
    value, why = look(world, "host.memory_mib")
    assert value == mib
    assert (why is None) == (mib is not None)


def test_memory_is_unknown_without_meminfo(world: World) -> None:
    world.at("/proc/meminfo").unlink(missing_ok=True)
    assert look(world, "host.memory_mib")[0] is None
