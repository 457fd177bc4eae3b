"""All checks over one scene, worst first. A check that fails itself is reported, and stops no other."""

from __future__ import annotations

from resolver.doctor import checks_engine, checks_gpu, checks_host
from resolver.doctor.finding import Finding, Scene

CHECKS = (*checks_gpu.CHECKS, *checks_host.CHECKS, *checks_engine.CHECKS)
ORDER = {"problem": 0, "warning": 1, "note": 2}


def examine(scene: Scene) -> list[Finding]:
    """What is found. Never raises."""
    found: list[Finding] = []
    for check in CHECKS:
        if check in checks_gpu.CHECKS and not scene.on_gpu:
            continue
        try:
            found += check(scene)
        except Exception as error:
            found.append(
                Finding(
                    "check-failed",
                    "note",
                    f"the check {check.__name__} itself failed ({type(error).__name__})",
                    "it says nothing about this machine",
                    "a mistake in this program",
                    "run launch.py doctor --json, and report it",
                )
            )
    return sorted(found, key=lambda f: ORDER[f.severity])
