"""A switch that cannot go on after the other server was stopped: the user is told how that one is started again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving import switching
from resolver.serving.errors import LaunchError
from resolver.serving.owned_run import Place, Wanted
from resolver.serving.ownership import claim, locks, process, records
from resolver.serving.ownership.recipe import plan
from resolver.serving.progress import Progress
from resolver.serving.supervise import Wishes
from tests.serving.owned import RECIPE, Sleeper

AGAIN = f"mtp-long was stopped; start it again with: {RECIPE.command}"


@pytest.mark.parametrize("space", ["", "pid:[1]"])
def test_a_stranger_that_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sleeper: Sleeper, space: str
) -> None:
    found = process.of(sleeper().pid)
    assert found is not None
    launcher = replace(found, space=space or found.space)
    old = replace(records.new(RECIPE, ("cpu",), "ready"), id="old", launcher=launcher, supervised=False)
    records.save(tmp_path, old)

    def taken(*_: object, **__: object) -> locks.Held:
        raise LaunchError("the CPU is still held by process 1", "stop it")

    monkeypatch.setattr(claim, "claim", taken)
    said: list[str] = []
    wanted = Wanted(plan(RECIPE, {}), RECIPE, ("cpu",))
    place = Place(tmp_path, {}, said.append, lambda: Progress(quiet=True))
    with pytest.raises(LaunchError) as error:
        switching.switch(wanted, place, Wishes(tmp_path / "log"))
    if space:
        assert "runs in another container" in error.value.message
        assert AGAIN not in said, "it was not stopped"
    else:
        assert "still held by process 1" in error.value.message
        assert said[-1] == AGAIN
    assert [one.id for one in records.everything(tmp_path)] == ["old"], "the switch left its own record"
