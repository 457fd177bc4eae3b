"""Verdicts that are written at the same time: none is lost. A list that cannot be read is told of, and stays as it is."""

from __future__ import annotations

import copy
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.serving.accept import verdicts
from resolver.serving.accept.result import Result
from resolver.serving.accept.verdicts import Verdict
from resolver.serving.errors import LaunchError
from tests.serving.owned import RECIPE

COUNT = 24
GOOD = Verdict("2026-12-01T10:00:00Z", True, "", RECIPE, ("cpu",), "", None, 1.0)
WHOLE = json.dumps({"schema": 1, "launches": [GOOD.as_json()]}).encode()
DAMAGED = {
    "cut": WHOLE[:-40],
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "no list": b"{}",
    "odd list": b'{"schema": 1, "launches": {"a": 1}}',
    "no UTF-8": b"\xff\xfe" + WHOLE,
    "NUL": b"\0" * 100,
    "deep": b"[" * 100_000,
    "NaN": WHOLE.replace(b"1.0", b"NaN"),
    "long": WHOLE.replace(b"1.0", b"9" * 400),
    "newer": b'{"schema": 99, "launches": []}',
    "pipe": None,
    "folder": None,
    "device": None,
}
"""What may stand in a list's place, by name."""


def damage(place: Path, name: str) -> None:
    """Put it there."""
    if name == "pipe":
        os.mkfifo(place)
    elif name == "folder":
        place.mkdir()
    elif name == "device":
        place.symlink_to("/dev/zero")
    else:
        place.write_bytes(DAMAGED[name] or b"")


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


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_read_is_never_written_over(tmp_path: Path, name: str) -> None:
    environ, place = {"LAUNCH_STATE_DIR": str(tmp_path)}, tmp_path / "accepted.json"
    damage(place, name)
    before = place.lstat()[:7]
    for act in (verdicts.everything, verdicts.check_writable, lambda e: verdicts.keep(e, GOOD), verdicts.unread):
        with pytest.raises(LaunchError, match="cannot be read") as caught:
            act(environ)
        assert str(place) in caught.value.message
    assert list(verdicts.known_good(environ, ("cpu",), RECIPE.engine)) == []
    assert place.lstat()[:7] == before


ODD_ENTRIES = [
    3,
    None,
    {"schema": 2},
    {**GOOD.as_json(), "accepted": "no"},
    {**GOOD.as_json(), "recipe": {"name": "x"}},
]


@pytest.mark.parametrize("odd", ODD_ENTRIES, ids=["3", "null", "newer", "accepted", "recipe"])
def test_an_entry_that_is_no_verdict_is_told_of_and_stays(tmp_path: Path, odd: object) -> None:
    environ, place = {"LAUNCH_STATE_DIR": str(tmp_path)}, tmp_path / "accepted.json"
    place.write_text(json.dumps({"schema": 1, "launches": [odd, GOOD.as_json()]}))
    assert verdicts.everything(environ) == [GOOD]
    assert "of number 1 no verdict can be read" in str(verdicts.unread(environ))
    verdicts.check_writable(environ)
    newer = replace(GOOD, accepted=False, problem="died")
    verdicts.keep(environ, newer)
    assert json.loads(place.read_text())["launches"] == json.loads(json.dumps([odd, newer.as_json()]))
    assert verdicts.everything(environ) == [newer]


def test_any_value_of_any_kind_in_an_entry_breaks_nothing(tmp_path: Path) -> None:
    environ, place = {"LAUNCH_STATE_DIR": str(tmp_path)}, tmp_path / "accepted.json"
    entry = replace(GOOD, results=(Result("chat", False, "no answer", "read the log"),)).as_json()
    ways = [(name,) for name in entry] + [("recipe", name) for name in entry["recipe"]]
    ways += [("checks", 0, name) for name in entry["checks"][0]]
    read = 0
    for way in ways:
        for value in (None, True, 7, 1e300, "", "x", [], [7], [None], {}, {"a": 1}):
            changed = copy.deepcopy(entry)
            part = changed
            for step in way[:-1]:
                part = part[step]
            part[way[-1]] = value
            place.write_text(json.dumps({"schema": 1, "launches": [changed]}))
            found = verdicts.everything(environ)
            assert bool(found) != bool(verdicts.unread(environ))
            for one in found:
                read += 1
                json.dumps(one.as_json())
                assert all(reason["reason"][:80] is not None for reason in one.reasons)
                assert ", ".join((one.at, one.recipe.name, one.recipe.engine, one.arm or "")) is not None
    assert 0 < read < len(ways) * 11
