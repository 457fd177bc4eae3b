"""Verdicts that are written at the same time: none is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from resolver.serving.accept import verdicts
from resolver.serving.accept.verdicts import Verdict
from tests.serving.test_ownership import RECIPE

COUNT = 24


def test_verdicts_that_are_kept_at_once_are_all_kept(tmp_path: Path) -> None:
    environ = {"LAUNCH_STATE_DIR": str(tmp_path)}

    def act(number: int) -> None:
        if number % 2:
            verdicts.check_writable(environ)
        recipe = replace(RECIPE, configuration=f"{number:016x}")
        verdicts.keep(environ, Verdict("2026-12-01T10:00:00Z", True, "", recipe, ("cpu",), "", None, 1.0))
        verdicts.check_writable(environ)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(COUNT)))
    there = {one.recipe.configuration for one in verdicts.everything(environ)}
    assert there == {f"{number:016x}" for number in range(COUNT)}
