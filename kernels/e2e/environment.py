# SPDX-License-Identifier: Apache-2.0
"""On the GPU machine: an engine environment made of what was carried, and the variables everything runs with."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from e2e import archive, models

ROOT = Path(__file__).resolve().parents[2]
VLLM_PROGRAM = """\
#!{python}
import sys
from vllm.entrypoints.cli.main import main

if __name__ == "__main__":                                          # the engine's core starts as a second process of this file
    sys.exit(main())
"""


@dataclass(frozen=True)
class Place:
    """The folders of a run on the GPU machine. They stay, so that a later command finds them."""

    work: Path

    @property
    def venv(self) -> Path:
        """The engine's environment."""
        return self.work / "engine"

    @property
    def models(self) -> Path:
        """The model folders."""
        return self.work / "models"

    @property
    def cache(self) -> Path:
        """Compile caches."""
        return self.work / "cache"

    @property
    def soak(self) -> Path:
        """What the load leaves, for whoever asks how it goes."""
        return self.work / "soak"

    def variables(self) -> dict[str, str]:
        """What every process here runs with."""
        return variables(make_library(self.work), self.cache)


def prepare(carried: Path, work: Path) -> Place:
    """Environment, caches and models, as far as they are not there. Not to be done by two processes at once."""
    place = Place(work)
    cache = carried / "cache.tar.xz"
    if cache.exists() and not place.cache.exists():
        archive.unpack(cache, work)
    make_venv(place.venv, carried)
    models.make(place.models)
    return place


def make_venv(venv: Path, carried: Path) -> None:
    """An environment with vLLM, its packages and the plugin in it; torch and the rest come from this Python's own packages."""
    packages = venv / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    if not (venv / "bin/vllm").exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
        archive.unpack(carried / "site.tar.xz", packages)
        (packages / "the-machines-own.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        program = venv / "bin/vllm"
        program.write_text(VLLM_PROGRAM.format(python=venv / "bin/python"))
        program.chmod(0o755)
    archive.unpack(carried / "plugin.tar.xz", packages)
    subprocess.run([str(venv / "bin/python"), "-m", "compileall", "-q", "-j", "0", str(packages)], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_library(work: Path) -> Path:
    """A folder for PYTHONPATH with these scripts and nothing beside them: the plugin must come from the environment."""
    library = work / "library"
    library.mkdir(parents=True, exist_ok=True)
    for name, place in (("e2e", ROOT / "kernels/e2e"), ("tools", ROOT / "tools")):
        if not (library / name).exists():
            (library / name).symlink_to(place)
    return library


def variables(library: Path, cache: Path) -> dict[str, str]:
    """This process's variables and what all engines get beside them: no network, and compile caches at one place."""
    return {
        **os.environ,
        "PYTHONPATH": str(library),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_MODULE_LOADING": "LAZY",
        "VLLM_USE_DEEP_GEMM": "0",                               # not carried
        "TRITON_CACHE_DIR": str(cache / "triton"),
        "TRITON_STORE_BINARY_ONLY": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "4",
        "VLLM_CACHE_ROOT": str(cache / "vllm"),
    }
