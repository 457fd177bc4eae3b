"""How does one server take another one's place, and what happens when it does not become ready?

The order of steps is what makes it safe: what is to come is checked and written down before anything is stopped; the locks
are taken before anything is started; and nothing is started while something of another server is left.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from resolver.serving import state, supervise_plan
from resolver.serving.client import BadAnswer, NoAnswer
from resolver.serving.errors import LaunchError
from resolver.serving.going_back import go_back
from resolver.serving.owned_run import Interrupted, Place, Say, Wanted, run, signals
from resolver.serving.ownership import claim, locks, memory, process, records, survey
from resolver.serving.ownership.recipe import plan as plan_again
from resolver.serving.ownership.records import Record
from resolver.serving.probes.gpu import IN_USE_MIB
from resolver.serving.ready import Failed, identity
from resolver.serving.supervise import Wishes
from resolver.serving.supervise_report import Ending

TAKE_OVER = "add --switch to have this launch checked, that one stopped and this one started, or "


def serve(wanted: Wanted, place: Place, wishes: Wishes, way_out: str = TAKE_OVER) -> Ending:
    """Start a server where none of ours runs, and watch it to its end. Returns how it ended.

    Raises:
        LaunchError: another one runs, the state cannot be written, or the engine was not started.
        Interrupted: before anything was started.
    """
    with signals() as go_on:
        _tell_waiting(wanted, place)
        try:
            held = claim.claim(place.folder, wanted.keys, place.say, go_on=go_on)
        except claim.Busy as busy:
            raise LaunchError(
                f"another server has what this launch needs: {survey.what(busy.record)}",
                f"{way_out}stop it: kill {busy.record.launcher.pid}",
            ) from None
    record = records.new(wanted.recipe, wanted.keys, "starting")
    try:
        client = wanted.plan.target.client
        supervise_plan.check_free(client.host, client.port)
        record = records.save(place.folder, record)
        return run(record, wanted.plan, place, held, wishes)
    finally:
        held.release()
        records.remove(place.folder, record)


def switch(wanted: Wanted, place: Place, wishes: Wishes) -> int:
    """Start a server in the place of the one that runs, if one does; go back when it does not become ready.

    Returns the exit status: that of a server that became ready; 1 when it did not, whatever was started again.

    Raises:
        LaunchError: nothing was changed, the other server could not be stopped, or somebody has its place; where it was
            stopped, how it is started again was said.
    """
    old = _running(wanted, place)
    os.close(state.open_log(wishes.log))
    keys = tuple(sorted({*wanted.keys, *(old.keys if old else ())}))
    back = old.launch if old and (old.was_ready or (not old.supervised and _answers(old, place))) else None
    record = records.save(
        place.folder, records.new(wanted.recipe, keys, "waiting", replaces=old.launch if old else None)
    )
    held: locks.Held | None = None
    try:
        with signals() as go_on:
            if old is not None:
                go_on("")
                place.say(f"stopping {survey.what(old)}")
                claim.stop(old, go_on)
            held = _claim(place, keys, record, go_on)
            _wait_for_memory(wanted, place, go_on)
        why, ending = _try(record, wanted, place, held, wishes)
        if why is not None:
            return go_back(record, why, back, place, held, wishes)
        assert ending is not None
        if not ending.ready:
            place.say(_again(old))
        return ending.status
    except Interrupted as stopped:
        place.say(f"interrupted: {wanted.recipe.name} was not started; {_again(old)}")
        return 128 + stopped.number
    except LaunchError:
        if old is not None and process.state(old.launcher) == "gone":
            place.say(_again(old))
        raise
    finally:
        if held is not None:
            held.release()
        records.remove(place.folder, record)


def _answers(old: Record, place: Place) -> bool:
    """Whether a server that nobody watches over serves its model now."""
    try:
        identity(plan_again(old.launch, place.environ).target)
    except (LaunchError, Failed, NoAnswer, BadAnswer):
        return False
    return True


def _again(old: Record | None) -> str:
    """What runs when a switch was given up, and how the server that was stopped is started again."""
    if old is None:
        return "no server runs"
    now = "is stopping" if process.state(old.launcher) == "runs" else "was stopped"
    return f"{old.launch.name} {now}; start it again with: {old.launch.command}"


def _tell_waiting(wanted: Wanted, place: Place) -> survey.Survey:
    """Look, and tell of switches that were cut short before they stopped anything."""
    found = survey.survey(place.folder, wanted.keys)
    for record in found.cut:
        if record.phase == "waiting" and found.running:  # what else was cut short is told once its locks are free
            place.say(survey.cut_short(record, found.running))
            records.remove(place.folder, record)
    return found


def _running(wanted: Wanted, place: Place) -> Record | None:
    """The server to be replaced."""
    found = _tell_waiting(wanted, place)
    if found.coming:
        raise LaunchError(
            f"another switch is under way: {survey.what(found.coming[0])}",
            f"wait for it, or stop it: kill {found.coming[0].launcher.pid}",
        )
    if len(found.running) > 1:
        names = " and ".join(survey.what(one) for one in found.running)
        raise LaunchError(f"more than one server is in the way: {names}", "stop all but one of them first")
    if not found.running:
        return None
    old = found.running[0]
    try:
        plan_again(old.launch, place.environ)
    except LaunchError as error:
        place.say(f"warning: {old.launch.name} cannot be started again from here: {error.message}")
    return old


def _claim(place: Place, keys: Sequence[str], record: Record, go_on: Say) -> locks.Held:
    try:
        return claim.claim(place.folder, keys, place.say, mine=record.id, go_on=go_on)
    except claim.Busy as busy:
        raise LaunchError(
            f"another launcher was faster: {survey.what(busy.record)}",
            "check whether that server is the one you want, or try again",
        ) from None


def _wait_for_memory(wanted: Wanted, place: Place, go_on: Say) -> None:
    used = memory.wait_until_free(wanted.free, go_on=go_on)
    if used is not None and used > IN_USE_MIB:
        place.say(f"{used} MiB of the GPU are still in use, by others than the server that was stopped")


def _try(
    record: Record, wanted: Wanted, place: Place, held: locks.Held, wishes: Wishes
) -> tuple[str | None, Ending | None]:
    """Start what is wanted. Returns why it did not become ready (None: it did, or was told to stop), and how it ended."""
    try:
        supervise_plan.check_free(wanted.plan.target.client.host, wanted.plan.target.client.port)
        problems = wanted.check()
        if problems:
            return "; ".join(problems), None
        ending = run(replace(record, phase="starting"), wanted.plan, place, held, wishes, wanted.keys)
    except LaunchError as error:
        return error.message, None
    if ending.ready or ending.why in ("stopped", "once"):
        return None, ending
    return ending.problem or "the engine ended before it was ready", ending
