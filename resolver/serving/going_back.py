"""What is started when a server did not become ready? What ran before it, else what was accepted last, word for word."""

from __future__ import annotations

import threading
from dataclasses import replace

from resolver.serving import supervise
from resolver.serving.errors import LaunchError
from resolver.serving.owned_run import Place, run
from resolver.serving.ownership import locks
from resolver.serving.ownership.recipe import Recipe
from resolver.serving.ownership.recipe import plan as plan_again
from resolver.serving.ownership.records import Record
from resolver.serving.supervise import Wishes

LAST_QUESTION = 6.0  # seconds for a question to a server that has ended


def go_back(record: Record, why: str, back: Recipe | None, place: Place, held: locks.Held, wishes: Wishes) -> int:
    """Start again what ran before, else what was accepted last. Returns 1: what was asked for does not run."""
    place.say(f"error: {record.launch.name} did not become ready: {why}")
    tried = {record.launch.configuration}
    for recipe in [*([back] if back else []), *place.accepted(record.keys)]:
        if recipe.configuration in tried and recipe is not back:
            continue
        tried.add(recipe.configuration)
        for thread in threading.enumerate():  # the next start forks
            if thread.daemon:
                thread.join(LAST_QUESTION)
        try:
            plan = plan_again(recipe, place.environ)
            known = "ran before" if recipe is back else "was accepted last"
            place.say(f"going back to {recipe.name}, which {known}, on {recipe.url}")
            again = replace(record, launch=recipe, replaces=None, phase="starting")
            log = wishes.log.with_name(wishes.log.name + ".back")
            ending = run(again, plan, place, held, replace(wishes, log=log, timeout=supervise.TIMEOUT, question=None))
        except LaunchError as error:
            place.say(f"error: {recipe.name} cannot be started again: {error.message}")
            continue
        if ending.left or ending.ready or ending.why == "stopped":
            return 1
    place.say(f"no server runs; the last one can be started with: {back.command}" if back else "no server runs")
    return 1
