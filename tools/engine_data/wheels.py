"""Fetches vLLM's wheel with pip and unpacks its Python files; the compiled parts (most of its 320 MB) stay packed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

COMPILED = (".so", ".cu", ".cuh", ".h", ".hpp", ".cpp")


@dataclass(frozen=True)
class Wheel:
    """A wheel that was downloaded: its file name and the SHA-256 of its bytes."""

    name: str
    sha256: str


def fetch(version: str, cache: Path) -> Path:
    """Path of the wheel in `cache`, downloaded where it is not there yet. Raises CalledProcessError when pip fails."""
    cache.mkdir(parents=True, exist_ok=True)
    found = sorted(cache.glob(f"vllm-{version}-*_x86_64.whl"))
    if not found:
        platform = ["--platform", "manylinux_2_28_x86_64", "--only-binary=:all:", "--no-deps"]
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", *platform]
        subprocess.run([*command, "-d", str(cache), f"vllm=={version}"], check=True)
        found = sorted(cache.glob(f"vllm-{version}-*_x86_64.whl"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} wheels of vLLM {version} for x86_64 in {cache}, one is wanted")
    return found[0]


def unpack(path: Path, target: Path) -> Wheel:
    """Unpacks what Python needs into `target` (replacing it) and says which wheel it was."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if (name.startswith("vllm/") and not name.endswith(COMPILED)) or ".dist-info/" in name:
                archive.extract(name, part)
    (part / "wheel.txt").write_text(f"{path.name}\n{digest}\n", encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    return Wheel(path.name, digest)


def unpacked(target: Path) -> Wheel | None:
    """Which wheel was unpacked into `target`, None where none was."""
    note = target / "wheel.txt"
    if not note.is_file():
        return None
    name, digest = note.read_text(encoding="utf-8").split()
    return Wheel(name, digest)
