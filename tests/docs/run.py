"""Run the commands of the documents in a copy of the repository, as a fresh clone has it; `python -m tests.docs.run` renews the shown output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import ROOT, Command, commands, documents

COPIED = ("launch.py", "profiles.yaml", "rules", "resolver", "tools", "docs", "pyproject.toml", "Makefile", "tests")
FOLDER = "/srv/launch-resolver"
"""Where the documents say that the repository is."""


def fresh_copy(place: Path) -> Path:
    """A copy of the repository without environments and models."""
    place.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place / name)
    (place / "bin").mkdir()
    for name in ("python", "python3"):
        (place / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
        (place / "bin" / name).chmod(0o755)
    return place


def ran(command: Command, place: Path, cache: Path) -> tuple[int, str]:
    """Run a command in the copy; returns its exit status and what it printed, with the folder as the documents have it."""
    environment = {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "HOME": str(place),
        "LAUNCH_CACHE_DIR": str(cache),
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    text = done.stdout.replace(str(place), FOLDER)
    return done.returncode, re.sub(r"(?:\S*/)?python[\d.]* launch\.py", "python launch.py", text)


def unwrapped(text: str) -> str:
    """Output without the line breaks of a long command, whose places follow the length of the folder's name."""
    return re.sub(r" \\\n +", " ", text).strip("\n")


def main() -> int:
    """Put what the commands print now below each command whose output a document shows."""
    with tempfile.TemporaryDirectory() as folder:
        place = fresh_copy(Path(folder) / "launch-resolver")
        for name in documents():
            path = ROOT / name
            text = path.read_text(encoding="utf-8")
            for command in commands(name):
                if command.shown is not None:
                    status, printed = ran(command, place, Path(folder) / "cache")
                    if status > 1:
                        print(f"{name}:{command.line}: {command.text} ends with {status}, so nothing is renewed")
                        return 1
                    if unwrapped(printed) != unwrapped(command.shown):
                        old = f"$ {command.text}\n{command.shown}"
                        text = text.replace(old, f"$ {command.text}\n{printed.strip(chr(10))}")
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
