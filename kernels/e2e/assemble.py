# SPDX-License-Identifier: Apache-2.0
"""Put into one folder what a GPU machine without a network needs: vLLM, the packages beside it, the plugin.

    python -m e2e.assemble --out FOLDER [--wheel FILE] [--site FOLDER] [--ptx]
    python -m e2e.assemble --out FOLDER --plugin-only        # again, after the kernels were changed

Everything comes from the package index through pip. Needs `strip` of binutils. The folder then holds `site.tar.xz` and
`plugin.tar.xz`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from e2e import archive, fatbin

HERE = Path(__file__).resolve().parent
VLLM = "vllm==0.31.0"
PYTHON = "3.12"
GLIBC = (39, 35, 34, 31, 28, 27, 26, 24, 17, 12, 5)
"""pip takes a wheel for an older C library only when told of each version by name."""
ARCH = 90
THINNED = ("_C_stable_libtorch", "_moe_C_stable_libtorch")
"""Libraries with code for many GPUs."""
WHOLE = ("vllm_flash_attn/_vllm_fa3_C", "cumem_allocator", "spinloop", "fs_io_C")
"""Libraries taken as they are. The others (FlashAttention 2, FlashMLA, DeepGEMM ...) are large, and nothing here calls them."""
NOT_READ = (".so", ".cu", ".cuh", ".h", ".hpp", ".inl", ".cpp", ".js", ".css", ".jpg", ".md")
NOT_USED = ("vllm/vllm-rs", "vllm/third_party/fmha_sm100/", "vllm/third_party/deep_gemm/include/",
            "vllm/third_party/deep_gemm/legacy", "vllm/third_party/tml_fa4/")


UNREAD = ("mistral_common/data", "pycountry/locales")
"""Folders of packages that are imported, never used, and large."""


def pip(*words: str) -> None:
    """Run pip. Raises CalledProcessError when it fails."""
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *words], check=True)


def target() -> list[str]:
    """pip's words for the GPU machine's Python, whatever Python runs here."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
    named = [word for platform in platforms for word in ("--platform", platform)]
    return ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", *named]


def add_packages(site: Path, work: Path) -> None:
    """Install the packages of packages.txt into `site`."""
    wheels = work / "wheels"
    pip("download", *target(), "-d", str(wheels), "-r", str(HERE / "packages.txt"))
    pip("install", *target(), "--no-index", "--no-compile", "--upgrade", "--target", str(site),
        *map(str, sorted(wheels.glob("*.whl"))))
    for folder in UNREAD:
        shutil.rmtree(site / folder)


def wanted(name: str) -> bool:
    """Whether a file of vLLM's wheel is read at run time by what is booted here."""
    return not (name.endswith(("/", "RECORD", *NOT_READ)) or name.startswith(NOT_USED))


def add_vllm(wheel: Path, site: Path, keep_ptx: bool) -> None:
    """vLLM's Python files, and the libraries that are used, without code for other GPUs."""
    with zipfile.ZipFile(wheel) as source:
        for name in source.namelist():
            if wanted(name):
                source.extract(name, site)
        for library in WHOLE:
            source.extract(f"vllm/{library}.abi3.so", site)
        for library in THINNED:
            out = site / f"vllm/{library}.abi3.so"
            out.write_bytes(fatbin.thinned(source.read(f"vllm/{library}.abi3.so"), ARCH, keep_ptx))
            subprocess.run(["strip", "--strip-unneeded", str(out)], check=True)


def add_plugin(site: Path, work: Path) -> None:
    """This repository's own kernels, installed as a user would install them."""
    sources = work / "kernels"
    shutil.copytree(HERE.parent, sources, ignore=shutil.ignore_patterns("build", "*.egg-info", "gpu-results"))
    pip("install", "--no-deps", "--no-compile", "--upgrade", "--target", str(site), str(sources))


def vllm_wheel(work: Path) -> Path:
    """The wheel, downloaded."""
    pip("download", *target(), "-d", str(work / "vllm"), VLLM)
    return next((work / "vllm").glob("vllm-*.whl"))


def main(words: Sequence[str] | None = None) -> int:
    """Assemble. Returns 0."""
    parser = argparse.ArgumentParser(prog="e2e.assemble", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder that is to travel")
    parser.add_argument("--wheel", type=Path, help="vLLM's wheel, if it is here already (320 MB)")
    parser.add_argument("--site", type=Path, help="keep the unpacked files in this folder")
    parser.add_argument("--ptx", action="store_true", help="keep what the GPU would have to compile: Marlin (17 MB more)")
    parser.add_argument("--plugin-only", action="store_true", help="only the plugin, which changes more often than the rest")
    given = parser.parse_args(words)
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        add_plugin(work / "plugin", work)
        print("plugin.tar.xz:", archive.pack(work / "plugin", given.out / "plugin.tar.xz"), "bytes")
        if not given.plugin_only:
            site = given.site or work / "site"
            add_packages(site, work)
            add_vllm(given.wheel or vllm_wheel(work), site, given.ptx)
            print("site.tar.xz:", archive.pack(site, given.out / "site.tar.xz"), "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
