"""R4's two facts: the nvcc on PATH, and the CUDA 13 toolchain in the engine's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolver.serving.probe import ask, questions
from resolver.serving.probes.basis import World
from tests.serving.conftest import Script, with_environ

SAYS = """print('''nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release {release}, V{release}.88
Build cuda_{release}.r{release}/compiler.36424714_0''')"""


def look(world: World, name: str) -> tuple[object, str | None]:
    found = ask({name: questions(world)[name]})
    return found.facts[name], found.why.get(name)


@pytest.mark.parametrize(
    ("body", "major"),
    [
        (SAYS.format(release="13.0"), 13),
        (SAYS.format(release="12.8"), 12),
        ("print('release 11.5, release 13.0')", 11),
        ("print('no number')", 0),
        ("print('release 13')", 0),
        ("", 0),
        ("sys.exit(3)", 0),
    ],
)
def test_nvcc(world: World, script: Script, body: str, major: int) -> None:
    script("nvcc", body)
    assert look(world, "nvcc_major") == (major, None)


def test_no_nvcc_is_0(world: World) -> None:
    assert look(world, "nvcc_major") == (0, None)


def test_an_nvcc_that_cannot_be_run_is_none(world: World, script: Script) -> None:
    script("nvcc", SAYS.format(release="13.0")).chmod(0o644)
    assert look(world, "nvcc_major") == (0, None)


def test_a_hanging_nvcc_is_unknown(world: World, script: Script) -> None:
    object.__setattr__(world, "wait", 0.3)
    script("nvcc", "time.sleep(20)")
    assert look(world, "nvcc_major") == (None, "nvcc did not answer within 0.3 s")


def test_no_path_at_all(world: World) -> None:
    object.__setattr__(world, "environ", {})
    assert look(world, "nvcc_major") == (0, None)


def toolkit(world: World, python: str, nvcc: int | None = 0o755) -> Path:
    home = world.venv / f"lib/{python}/site-packages/nvidia/cu13"
    (home / "bin").mkdir(parents=True)
    if nvcc is not None:
        (home / "bin/nvcc").write_text("")
        (home / "bin/nvcc").chmod(nvcc)
    return home


def test_cuda13(world: World) -> None:
    home = toolkit(world, "python3.12")
    assert look(world, "cuda13_home") == (str(home), None)


@pytest.mark.parametrize("nvcc", [None, 0o644])
def test_cuda13_without_a_compiler_is_none(world: World, nvcc: int | None) -> None:
    toolkit(world, "python3.12", nvcc)
    assert look(world, "cuda13_home") == (None, None)


def test_only_the_first_match_is_looked_at(world: World) -> None:
    """python3.11 comes before python3.12, and has no compiler: the second one, which has, does not count (R4)."""
    toolkit(world, "python3.11", None)
    toolkit(world, "python3.12")
    assert look(world, "cuda13_home") == (None, None)


def test_the_first_match_qualifies(world: World) -> None:
    first = toolkit(world, "python3.11")
    toolkit(world, "python3.12", None)
    assert look(world, "cuda13_home") == (str(first), None)


def test_a_python_without_the_toolkit_is_no_match(world: World) -> None:
    (world.venv / "lib/python3.11/site-packages/nvidia").mkdir(parents=True)
    home = toolkit(world, "python3.12")
    assert look(world, "cuda13_home") == (str(home), None)


def test_no_environment(world: World) -> None:
    assert look(world, "cuda13_home") == (None, None)


def test_another_environment(world: World, tmp_path: Path) -> None:
    other = with_environ(world, ENGINE_VENV=str(tmp_path / "engine"))
    home = toolkit(other, "python3.12")
    assert look(other, "cuda13_home") == (str(home), None)
    assert home.is_relative_to(tmp_path / "engine")
    assert look(world, "cuda13_home") == (None, None)
    assert with_environ(world, ENGINE_VENV="").venv == world.root / "venv"
