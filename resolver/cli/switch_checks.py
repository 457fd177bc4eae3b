"""What would keep a launch from working, asked before the server that runs now is stopped, and once more when it is gone?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.resolution import Resolution

HELD = frozenset({"port-in-use", "shared-memory", "gpu-memory", "stale-regions"})
"""Findings of the doctor that the running server may be the reason for: they count once it is gone."""


def before(resolution: Resolution, env_file: str | None) -> list[str]:
    """The problems of a launch whose place another server has still: memory that it would not fit into, and the doctor's."""
    return [*_fit(resolution), *_doctor(resolution, env_file, held=False)]


def after(resolution: Resolution, env_file: str | None) -> list[str]:
    """The problems that are left when the place is free."""
    return list(_doctor(resolution, env_file, held=True))


def _fit(resolution: Resolution) -> Iterator[str]:
    """The verdict of `launch.py fit` on a card of its own: what the running server holds is given back."""
    from resolver.geometry.shapes import NoGeometry
    from resolver.views.fit import verdict
    from resolver.views.fit_setup import asked

    try:
        question = asked(resolution)
        if question.card is not None:
            question = question._replace(card=question.card._replace(free_mib=None))
        found = verdict(question)
    except NoGeometry:
        return
    for one in found.questions:
        if one.answer == "does not fit" and one.need is not None and one.have is not None:
            yield f"it does not fit into memory: {one.name}: {one.need.low:.2f} GiB of {one.have.high:.2f}"


def _doctor(resolution: Resolution, env_file: str | None, held: bool) -> Iterator[str]:
    from resolver.cli.doctor import launch_of, world_of
    from resolver.doctor.examine import examine
    from resolver.doctor.gather import questions, scene

    launch = launch_of(resolution, env_file)
    seen, _ = scene(questions(world_of(resolution), launch), launch)
    for found in examine(seen):
        if found.severity == "problem" and (found.id in HELD) == held:
            yield f"{found.what}: {found.fix}"
