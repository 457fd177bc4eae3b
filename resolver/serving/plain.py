"""How does a plain launch, which becomes the engine, own its card? It takes the locks with it, and is written down like any other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from resolver.serving import secrets, supervise_plan
from resolver.serving.errors import LaunchError
from resolver.serving.ownership import claim, keys, process, recipe, records, store, survey
from resolver.serving.supervise_guard import Order
from resolver.serving.supervise_plan import Plan

if TYPE_CHECKING:
    from resolver.resolution import Resolution


def own(resolution: Resolution, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Lock what the launch needs, for as long as this process lives, as whatever program.

    A state folder that cannot be used is told of, and the launch goes on without: it writes nothing else.

    Args:
        resolution: the launch.
        environ: the environment that the engine gets, with or without its key.
        say: takes what there is to tell.

    Raises:
        LaunchError: another server of ours has it, or the key file cannot be read.
    """
    root = resolution.resolver.root
    keyed = secrets.with_key(environ, root / secrets.FILE)
    plan = Plan(Order(resolution.argv, keyed, root), supervise_plan.target_of(resolution, keyed))
    given = resolution.passthrough.last
    listens = not (resolution.setting("headless_flag") or given.get("headless") or given.get("uds"))
    needed = keys.keys(
        supervise_plan.world_of(resolution, plan),
        resolution.setting("gpus_needed") or 1,
        plan.target.client.port if listens else None,
    )
    try:
        folder = store.folder(os.environ)
    except LaunchError as error:
        say(f"note: {error.message}: nothing keeps a second server from this one's card")
        return
    try:
        held = claim.claim(folder, needed, say)
    except claim.Busy as busy:
        raise LaunchError(
            f"another server has what this launch needs: {survey.what(busy.record)}",
            f"use `launch.py serve --switch`, or stop it: kill {busy.record.launcher.pid}",
        ) from None
    record = records.new(recipe.of(resolution, plan), needed, "starting")
    try:
        records.save(folder, record, supervised=False, engine=process.me())
    except LaunchError as error:
        say(f"note: {error.message}")
    for handle in held.files():
        os.set_inheritable(handle, True)
