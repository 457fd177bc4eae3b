"""The run's own machinery, with engines that only say where they are: refusals, and a load that outlasts the run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import machine

from e2e import environment, launches, plans, run, soak_run, soaking  # isort: skip  (tests.e2e makes it importable)

ENGINE = """\
#!{python}
import json, sys, time
from pathlib import Path
task = json.loads(Path(sys.argv[-1]).read_text())
turns, name = Path(task["turns"]), task["name"]
assert task["others"] == ["server"]
(turns / (name + ".up")).touch()
if name == "off-custom-int8":
    raise SystemExit(5)
time.sleep(1)
(turns / (name + ".timed")).touch()
with open(Path(task["out"]) / "results.jsonl", "a") as file:
    file.write(json.dumps({{"launch": name, "kind": "end"}}) + "\\n")
"""
SOAK = "import sys, time, pathlib; f = pathlib.Path(sys.argv[1]) / 'all.timed'\nwhile not f.exists(): time.sleep(.05)\ntime.sleep(60)"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> environment.Place:
    """A prepared machine whose engines are a script."""
    place = environment.Place(tmp_path / "work")
    (place.venv / "bin").mkdir(parents=True)
    program = place.venv / "bin/python"
    program.write_text(ENGINE.format(python=sys.executable))
    program.chmod(0o755)
    described: dict[str, Any] = {"argv": ["vllm", "serve"], "env": {"set": {}, "unset": []}, "arm": "x", "fit": {}}
    monkeypatch.setattr(environment, "prepare", lambda carried, work: place)
    monkeypatch.setattr(launches, "described", lambda name, models, venv: described)
    names = {"mtp3-custom-int8": plans.Work(), "off-custom-int8": plans.Work()}
    monkeypatch.setitem(plans.ALL, "again", plans.Plan(names, "served-custom-int8", soak=60.0))
    return place


def go(place: environment.Place, out: Path, seconds: str = "30") -> int:
    return run.main(["again", "--carried", "none", "--out", str(out), "--work", str(place.work), "--seconds", seconds])


def test_a_load_outlasts_the_run_and_begins_when_nobody_is_timed(
    place: environment.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def begin(given: argparse.Namespace) -> subprocess.Popen[bytes]:
        assert (given.prepared, given.seconds, given.launch) == (True, 60.0, "served-custom-int8")
        assert not (given.turns / "all.timed").exists()
        begun.append(subprocess.Popen([sys.executable, "-c", SOAK, str(given.turns)], start_new_session=True))
        place.soak.mkdir()
        soaking.say(place.soak, "starting", given.launch, begun[0].pid)
        return begun[0]

    monkeypatch.setattr(soak_run, "begin", begin)
    (place.work / "turns").mkdir()
    (place.work / "turns/mtp3-custom-int8.timed").touch()  # what an earlier run said counts for nothing
    begin_at = time.time()
    assert go(place, tmp_path / "out") == 1  # one of the engines ended with 5
    assert 1 <= time.time() - begin_at < 25
    try:
        assert begun[0].poll() is None
        assert (place.work / "turns/all.timed").exists()
    finally:
        begun[0].kill()
        begun[0].wait()
    text = capsys.readouterr().out
    assert "off-custom-int8 ended with status 5" in text
    assert "the load, which goes on: phase starting" in text
    assert [json.loads(line)["launch"] for line in (tmp_path / "out/results.jsonl").read_text().splitlines()] == [
        "mtp3-custom-int8"
    ]


def test_a_run_whose_launches_are_refused_is_no_success(
    place: environment.Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(name: str, models: Path, venv: Path) -> None:
        raise RuntimeError(f"{name} is refused: no GPU")

    monkeypatch.setattr(launches, "described", refused)
    assert go(place, tmp_path / "out") == 1
    assert "0 of 3 launches resolved" in capsys.readouterr().out


def test_the_servers_command_is_launch_py_as_a_user_types_it(place: environment.Place) -> None:
    command = launches.server("served-custom-int8", place.models, place.venv)
    assert command[:3] == [str(place.venv / "bin/python"), str(machine.REPO / "launch.py"), "--profile"]
