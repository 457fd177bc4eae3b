"""What is there to know of a launch on this machine? Asks the engine's environment, NVML and the rules, and puts it together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.measure import provenance_gpu
from resolver.measure.provenance import Provenance, gather
from resolver.measure.rules_hash import rules_hash

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def installed_versions(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Plugins and overlays in the engine's environment, by our short names, with their versions; empty when unknown.

    Args:
        root: the product's root folder.
        environ: the caller's environment; ENGINE_VENV in it names the engine's environment.
    """
    from resolver.serving.probes.basis import Unknown, World
    from resolver.serving.probes.packages import distributions, names_table, normal

    world = World(root, environ)
    try:
        there = distributions(world)
        table = names_table(world.plugins)
    except Unknown:
        return {}
    found = {}
    for section in table.values():
        for short, names in section.items():
            version = next((there[normal(name)] for name in names if normal(name) in there), None)
            if version:
                found[short] = version
    return dict(sorted(found.items()))


def provenance_here(
    resolution: Resolution | None,
    root: Path,
    environ: Mapping[str, str],
    *,
    engine: str | None = None,
    local: bool = True,
    at: str | None = None,
) -> Provenance:
    """The provenance of what is measured now.

    Args:
        resolution: the launch that is measured; None when only an address is known.
        root: the product's root folder.
        environ: the caller's environment.
        engine: the version that the server reports.
        local: whether the server runs on this machine; for another one nothing is asked here.
        at: the time of measuring; None is now.

    Raises:
        RulesError: the rules or the vocabulary of the figures cannot be read.
    """
    from resolver.views.evidence import load_evidence

    places = dict(environ)
    if resolution is not None and (venv := resolution.request.knobs.get("engine_venv")) is not None:
        places["ENGINE_VENV"] = venv.text
    gpu = None if resolution is None or not local else resolution.facts.get("gpu.name")
    return gather(
        resolution,
        engine=engine,
        plugins=installed_versions(root, places) if local else {},
        card=provenance_gpu.read(str(gpu) if gpu else None),
        rules=rules_hash(root, engine if resolution is None else resolution.engine.name),
        hardware=load_evidence(root).hardware,
        at=at,
    )
