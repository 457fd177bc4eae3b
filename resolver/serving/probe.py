"""What machine is this? Every fact that the rules ask for, each by its own small function; what fails is unknown."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from resolver.serving.probes import host, packages, toolchain
from resolver.serving.probes.basis import Unknown, World
from resolver.serving.probes.gpu import Gpus

Fact = str | int | bool | list[str] | None
Question = Callable[[], Fact]


@dataclass
class Findings:
    """What a probe found.

    Attributes:
        facts: dotted name -> value; None is unknown, or known to be none where `why` is silent.
        why: dotted name -> the reason why it is unknown.
        seconds: dotted name -> how long it took.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """Return the findings in the form of a machine file, without files."""
        nested: dict[str, object] = {}
        for name, value in self.facts.items():
            place = nested
            *parents, last = name.split(".")
            for parent in parents:
                below = place.setdefault(parent, {})
                assert isinstance(below, dict)
                place = below
            place[last] = value
        engine = nested.pop("engine", None)
        assert isinstance(engine, dict)
        version = str(engine["version"]).partition("+")[0] if engine["version"] else None
        return {
            "machine": {"title": "this machine", "source": "probed"},
            "facts": nested,
            "engine": {"version": version, "overlays": engine["overlays"] or []} if version else None,
        }


def questions(world: World) -> dict[str, Question]:
    """Return dotted name -> the function that answers it. Replace an entry to answer otherwise."""
    gpus = Gpus(world)
    return {
        "device": gpus.device,
        "gpu.name": gpus.name,
        "gpu.capability": gpus.capability,
        "gpu.count": gpus.count,
        "gpu.vram_mib": gpus.vram_mib,
        "gpu.vram_free_mib": gpus.vram_free_mib,
        "gpu.driver": gpus.driver,
        "wsl": lambda: host.wsl(world),
        "container": lambda: host.container(world),
        "host.memory_mib": lambda: host.memory_mib(world),
        "shm_free_bytes": lambda: host.shm_free_bytes(world),
        "nvcc_major": lambda: toolchain.nvcc_major(world),
        "cuda13_home": lambda: toolchain.cuda13_home(world),
        "api_key_file": lambda: host.api_key_file(world),
        "installed": lambda: packages.installed(world),
        "engine.version": lambda: packages.engine_version(world),
        "engine.overlays": lambda: packages.overlays(world),
    }


def ask(asked: Mapping[str, Question]) -> Findings:
    """Answer the questions, one by one. No failure stops it: the fact is None, and `why` has the reason."""
    found = Findings()
    for name, question in asked.items():
        began = time.perf_counter()
        try:
            found.facts[name] = question()
        except Unknown as reason:
            found.facts[name] = None
            found.why[name] = str(reason)
        except Exception as error:
            found.facts[name] = None
            found.why[name] = f"the probe itself failed ({type(error).__name__})"
        found.seconds[name] = time.perf_counter() - began
    return found


def findings(root: Path, environ: Mapping[str, str]) -> Findings:
    """Probe this machine, with reasons and times."""
    return ask(questions(World(root, environ)))


def probe(root: Path, environ: Mapping[str, str]) -> dict[str, object]:
    """Probe this machine. Returns the nested document of a machine file: `machine`, `facts`, `engine` (None: none there).

    Args:
        root: the product's root folder.
        environ: the caller's environment; ENGINE_VENV in it names the engine's environment.
    """
    return findings(root, environ).document()


def lines(found: Findings) -> Iterator[str]:
    """Yield what was found, a fact a line, with the time each took and why it is unknown."""
    for name, value in found.facts.items():
        shown = "unknown" if name in found.why else "none" if value is None else str(value)
        reason = f"   ({found.why[name]})" if name in found.why else ""
        yield f"{1000 * found.seconds[name]:8.1f} ms  {name:18} {shown}{reason}"
    yield f"{1000 * sum(found.seconds.values()):8.1f} ms  in all"


def main() -> int:
    """Print what this machine is. Returns 0; a reader that goes away early is no error."""
    try:
        for line in lines(findings(Path.cwd(), os.environ)):
            print(line, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
