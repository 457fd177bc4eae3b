"""What is asked for, ready to be started: the plan, how it is written down, and what it needs for itself alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from resolver.serving import supervise_plan
from resolver.serving.owned_run import Wanted
from resolver.serving.ownership import keys, memory, recipe

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def wanted(resolution: Resolution, check: Callable[[], Sequence[str]] = lambda: ()) -> Wanted:
    """Plan an accepted launch. Whether its port is free is looked at when it is its turn.

    Args:
        resolution: the launch.
        check: what would keep it from working, asked once the server before it is gone.

    Raises:
        LaunchError: the engine is missing, the key is gone, or it would be no server that can be asked.
    """
    plan = supervise_plan.make(resolution, port_free=False)
    world = supervise_plan.world_of(resolution, plan)
    needed = keys.keys(world, resolution.setting("gpus_needed") or 1, plan.target.client.port)
    free = memory.reader(world) if keys.CPU not in needed else lambda: None
    return Wanted(plan, recipe.of(resolution, plan), needed, check, free)
