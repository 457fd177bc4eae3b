"""What may be mended without asking: nothing that another program uses, and nothing that cannot be done again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from resolver.doctor.finding import Scene
from resolver.serving.probes.basis import World
from resolver.serving.regions import remove_stale_regions


def remove_regions(world: World, scene: Scene) -> list[str]:
    """Remove offload regions that no process has mapped or open (R2)."""
    removed = remove_stale_regions(False, world.at("/dev/shm"), world.at("/proc"))
    return [f"removed {os.path.basename(path)} from /dev/shm" for path in removed]


def unix_line_ends(world: World, scene: Scene) -> list[str]:
    """Rewrite env files with Unix line ends; the mode stays."""
    done = []
    for name in scene.get("crlf_files", []):
        path = Path(name)
        mode = stat.S_IMODE(path.stat().st_mode)
        beside = path.with_name(path.name + ".mending")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            os.write(handle, path.read_bytes().replace(b"\r\n", b"\n"))
        finally:
            os.close(handle)
        os.replace(beside, path)
        done.append(f"wrote {name} with Unix line ends")
    return done


def close_key_file(world: World, scene: Scene) -> list[str]:
    """Let the owner alone read api_key.txt."""
    (world.root / "api_key.txt").chmod(0o600)
    return ["api_key.txt is now readable for its owner only"]


MENDS: dict[str, Callable[[World, Scene], list[str]]] = {
    "remove_regions": remove_regions,
    "unix_line_ends": unix_line_ends,
    "close_key_file": close_key_file,
}


def mend(world: World, scene: Scene, names: list[str]) -> list[str]:
    """Do what is asked, once each; returns what was done, or why not."""
    done: list[str] = []
    for name in dict.fromkeys(names):
        try:
            done += MENDS[name](world, scene)
        except OSError as error:
            done.append(f"could not do {name.replace('_', ' ')}: {error.strerror}")
    return done
