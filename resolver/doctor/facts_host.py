"""What the host tells beside the probe's facts: memory, /dev/shm, disk, ports, virtual machine, what Python would find."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from functools import partial
from pathlib import Path
from typing import Any

from resolver.doctor.finding import Launch
from resolver.serving import regions
from resolver.serving.addresses import asked
from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.host import meminfo
from resolver.serving.probes.packages import distributions


def memory_mib(world: World, launch: Launch) -> int:
    """Memory of the host in MiB."""
    return meminfo(world, "MemTotal")


def available_mib(world: World, launch: Launch) -> int:
    """Memory that is free or can be freed, in MiB."""
    return meminfo(world, "MemAvailable")


def stale_regions(world: World, launch: Launch) -> list[str]:
    """Offload regions in /dev/shm that nothing has mapped (R2): by name, and only where every process could be read."""
    found = regions.candidates(world.at("/dev/shm"))
    if not found:
        return []
    paths, files, complete = regions.read_maps(world.at("/proc"))
    if not complete:
        raise Unknown("not every process can be looked at")
    return [path.name for path, identity in found.items() if str(path) not in paths and identity not in files]


def disk_free_bytes(world: World, launch: Launch) -> int:
    """Free bytes where the engine keeps its compile cache."""
    place = cache_folder(world)
    while not place.exists() and place != place.parent:
        place = place.parent
    return shutil.disk_usage(place).free


def cache_folder(world: World) -> Path:
    """Where vLLM keeps compiled kernels: VLLM_CACHE_ROOT, or vllm in the user's cache folder."""
    named = world.environ.get("VLLM_CACHE_ROOT")
    if named:
        return Path(named)
    base = world.environ.get("XDG_CACHE_HOME") or os.path.join(world.environ.get("HOME", "/"), ".cache")
    return Path(base) / "vllm"


def compile_cache(world: World, launch: Launch) -> bool:
    """Whether an earlier start left compiled kernels."""
    folder = cache_folder(world) / "torch_compile_cache"
    return folder.is_dir() and any(folder.iterdir())


def port_taken(world: World, launch: Launch) -> bool:
    """Whether something listens where the server would."""
    if not launch.port:
        raise Unknown("the launch names no port")
    address = asked(launch.address)
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            probe.settimeout(0.5)
            return probe.connect_ex((address, launch.port)) == 0
    except OSError as error:
        raise Unknown(f"{address} cannot be asked: {error.strerror}") from None


def virtual_machine(world: World, launch: Launch) -> bool:
    """Whether a hypervisor runs this host."""
    try:
        text = world.at("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError as error:
        raise Unknown(f"/proc/cpuinfo cannot be read: {error.strerror}") from None
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return "hypervisor" in flags.split()


def packages(world: World, launch: Launch) -> dict[str, str]:
    """Distribution -> version in the engine's environment."""
    return dict(distributions(world))


def other_engines(world: World, launch: Launch) -> list[str]:
    """Other vLLM installs that may shadow the engine's: a program on PATH, a folder on PYTHONPATH."""
    found = []
    own = os.path.realpath(world.venv / "bin" / "vllm")
    on_path = world.program("vllm")
    if (
        on_path
        and os.path.realpath(on_path) != own
        and os.path.realpath(os.path.dirname(on_path)) != os.path.dirname(own)
    ):
        found.append(on_path)
    for folder in filter(None, world.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if os.path.isfile(os.path.join(folder, "vllm", "__init__.py")):
            found.append(os.path.join(folder, "vllm"))
    return found


def crlf_files(world: World, launch: Launch) -> list[str]:
    """Env files with Windows line ends: --env-file, and *.env beside launch.py."""
    files = sorted(
        {*world.root.glob("*.env"), world.root / ".env", *([Path(launch.env_file)] if launch.env_file else [])}
    )
    return [str(path) for path in files if path.is_file() and b"\r\n" in path.read_bytes()]


def key_file_mode(world: World, launch: Launch) -> int | None:
    """The mode of api_key.txt; None without one."""
    try:
        return stat.S_IMODE((world.root / "api_key.txt").stat().st_mode)
    except FileNotFoundError:
        return None


def variable(name: str, world: World, launch: Launch) -> str | None:
    """A variable of the caller's environment, by its name; none of those asked is a secret."""
    return world.environ.get(name)


VARIABLES = ("CUDA_VISIBLE_DEVICES", "VLLM_WSL2_ENABLE_PIN_MEMORY", "VLLM_PLUGINS")

QUESTIONS: dict[str, Any] = {
    "host.memory_mib": memory_mib,
    "host.available_mib": available_mib,
    "stale_regions": stale_regions,
    "disk_free_bytes": disk_free_bytes,
    "compile_cache": compile_cache,
    "port_taken": port_taken,
    "virtual_machine": virtual_machine,
    "packages": packages,
    "other_engines": other_engines,
    "crlf_files": crlf_files,
    "key_file_mode": key_file_mode,
    **{f"environment.{name}": partial(variable, name) for name in VARIABLES},
}
