"""What kind of host is this? WSL, container, memory, room in /dev/shm, an API key file."""

from __future__ import annotations

import os

from resolver.serving import secrets
from resolver.serving.probes.basis import Unknown, World


def wsl(world: World) -> bool:
    """Tell whether this is WSL: the kernel's release says "microsoft", or WSL_DISTRO_NAME is set and not empty (R116)."""
    if world.environ.get("WSL_DISTRO_NAME"):
        return True
    try:
        release = world.at("/proc/sys/kernel/osrelease").read_text("utf-8", errors="replace")
    except OSError as error:
        raise Unknown(f"the kernel's release cannot be read: {error.strerror}") from None
    return "microsoft" in release.lower()


def container(world: World) -> bool:
    """Tell whether this is a container: Docker and Podman each leave a file (R124)."""
    unreadable: OSError | None = None
    for path in ("/.dockerenv", "/run/.containerenv"):
        try:
            world.at(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unreadable = error
            continue
        return True
    if unreadable is not None:
        raise Unknown(f"{unreadable.filename} cannot be looked at: {unreadable.strerror}")
    return False


def shm_free_bytes(world: World) -> int:
    """Return the bytes that a user may still take in /dev/shm (R35b)."""
    try:
        seen = os.statvfs(world.at("/dev/shm"))
    except OSError as error:
        raise Unknown(f"/dev/shm cannot be looked at: {error.strerror}") from None
    return seen.f_bavail * seen.f_frsize


def api_key_file(world: World) -> bool:
    """Tell whether api_key.txt is there with a key in it. Its content is a secret and never a fact (R123, R124)."""
    found = secrets.holds_key(world.root / secrets.FILE)
    if found is None:
        raise Unknown(f"{secrets.FILE} is there and cannot be read")
    return found


def meminfo(world: World, key: str) -> int:
    try:
        lines = world.at("/proc/meminfo").read_text("utf-8").splitlines()
    except OSError as error:
        raise Unknown(f"/proc/meminfo cannot be read: {error.strerror}") from None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == key:
            return int(rest.split()[0]) // 1024
    raise Unknown(f"/proc/meminfo has no {key}")


def memory_mib(world: World) -> int:
    """Return the memory of the host in MiB."""
    return meminfo(world, "MemTotal")
