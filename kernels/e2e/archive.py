# SPDX-License-Identifier: Apache-2.0
"""A folder as one small file, and back. `python -m e2e.archive pack FOLDER FILE`, `python -m e2e.archive unpack FILE FOLDER`."""

from __future__ import annotations

import lzma
import os
import sys
import tarfile
from pathlib import Path

DICTIONARY = 256 << 20
"""As large as the largest library: equal stretches of two libraries are then stored once."""
LEFT_OUT = ("__pycache__",)
UNUSED_KERNEL_TEXT = (".ptx", ".llir", ".ttir", ".ttgir", ".source")
"""Stages of a Triton compile that nothing reads back."""


def pack(folder: Path, out: Path, left_out: tuple[str, ...] = (), preset: int = 6) -> int:
    """Write all files of `folder`, like beside like and without owners and times. Returns the bytes of `out`.

    Files that end in one of `left_out` are left out; `preset` is xz's, 1 is five times as fast as 6.
    """
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": DICTIONARY if preset > 3 else 16 << 20}]
    paths = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        paths += [Path(place, name) for name in names if not name.endswith(left_out or ("\0",))]
    paths.sort(key=lambda path: (".so" in path.suffixes, path.suffix, str(path)))
    with lzma.open(out, "wb", format=lzma.FORMAT_XZ, filters=filters) as raw, tarfile.open(fileobj=raw, mode="w|") as tar:
        for path in paths:
            entry = tar.gettarinfo(path, arcname=str(path.relative_to(folder)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = 0
            with open(path, "rb") as source:
                tar.addfile(entry, source)
    return out.stat().st_size


def unpack(file: Path, folder: Path) -> None:
    """Write the files of an archive that `pack` made into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with lzma.open(file) as raw, tarfile.open(fileobj=raw, mode="r|") as tar:
        tar.extractall(folder, filter="data")


if __name__ == "__main__":
    what, first, second = sys.argv[1:]
    if what == "pack":
        print(pack(Path(first), Path(second)), "bytes")
    else:
        unpack(Path(first), Path(second))
