# SPDX-License-Identifier: Apache-2.0
"""A server that `launch.py` starts, under load for as long as wished, in a process that outlives the command which began it.

    python -m e2e.soak_run run   --carried FOLDER --out FOLDER [--seconds 1200]     all of it in one command
    python -m e2e.soak_run start --carried FOLDER [--seconds 1200]                  begin it and return
    python -m e2e.soak_run wait  --out FOLDER [--most 590]                          from this or a later command: how it goes
    python -m e2e.soak_run stop  --out FOLDER                                       end it early

In OUT: results.jsonl and launches.json in the form of `e2e.run`, soak-progress.jsonl with a line every few seconds, and once
it ended soak-logs.tar.xz. Exit status: 0 when all of the load was met by a server that lived, answered rightly and ended
when told to, 1 when not, 3 when it still goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from e2e import archive, environment, launches, soaking

GOES_ON = 3
SHOWN = ("phase", "load s", "alive", "answered", "failed", "running", "waiting", "preemptions", "rss_mib", "gpu_mib", "gpu_all_mib")


def begin(given: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start `perform` in a session of its own. Raises SystemExit with the reason where a load goes on already."""
    if soaking.lives(environment.Place(given.work).soak):
        raise SystemExit(f"a load goes on in {given.work}: `python -m e2e.soak_run stop --work {given.work} --out FOLDER` ends it")
    place = environment.Place(given.work) if given.prepared else environment.prepare(given.carried.resolve(), given.work)
    shutil.rmtree(place.soak, ignore_errors=True)
    place.soak.mkdir(parents=True)
    words = ["--work", str(given.work), "--seconds", str(given.seconds), "--launch", given.launch, "--streams", str(given.streams)]
    words += ["--turns", str(given.turns)] if given.turns else []
    with open(place.soak / "soak.log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "e2e.soak_run", "perform", *words], env=place.variables(), stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True, cwd=launches.ROOT)
    soaking.say(place.soak, "starting", given.launch, process.pid)
    return process


def perform(given: argparse.Namespace) -> int:
    """The process that outlives the command: describe the launch, then start and load its server."""
    place = environment.Place(given.work)
    try:
        described = {given.launch: launches.described(given.launch, place.models, place.venv)}
    except (RuntimeError, KeyError) as error:                          # the server says itself why it does not start
        print(f"{given.launch} is not described: {error}", flush=True)
        described = {}
    (place.soak / "launches.json").write_text(json.dumps(described, indent=1))
    command = launches.server(given.launch, place.models, place.venv)
    soak = soaking.Soak(given.launch, command, place.variables(), place.soak, streams=given.streams, seconds=given.seconds,
                        turns=given.turns)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: soak.stop.set())
    return soaking.status(soak.run())


def wait(given: argparse.Namespace, process: subprocess.Popen[bytes] | None = None) -> int:
    """Until it ended, at most `given.most` seconds; say how it goes meanwhile, and leave in OUT what there is."""
    folder = environment.Place(given.work).soak
    if soaking.state(folder) is None:
        print(f"nothing was begun in {given.work}", flush=True)
        return 1
    until = time.time() + given.most
    while True:
        going = process.poll() is None if process else soaking.lives(folder)
        print(progress_line(folder), flush=True)
        if not going or time.time() >= until:
            break
        pause = time.time() + min(given.say_every, until - time.time())
        while time.time() < pause and (process.poll() is None if process else soaking.lives(folder)):
            time.sleep(0.5)
    collect(folder, given.out, ended=not going)
    if going:
        return GOES_ON
    result = soaking.result(folder)
    if result is None:
        print("The process that loads the server ended without a result; the last lines of its log:", flush=True)
        print("\n".join((folder / "soak.log").read_text(errors="replace").splitlines()[-20:]), flush=True)
        return 1
    print(json.dumps(result, indent=1), flush=True)
    return soaking.status(result)


def progress_line(folder: Path) -> str:
    """One line of how it goes."""
    last = soaking.last(folder)
    return ", ".join(f"{key} {last[key]}" for key in SHOWN if last.get(key) is not None) or "nothing yet"


def collect(folder: Path, out: Path, ended: bool) -> None:
    """Put into OUT what there is; once it ended, its record and the logs too."""
    out.mkdir(parents=True, exist_ok=True)
    for name, there in (("progress.jsonl", "soak-progress.jsonl"), ("launches.json", "launches.json")):
        if (folder / name).exists() and not (name == "launches.json" and (out / there).exists()):
            shutil.copy(folder / name, out / there)
    if ended:
        archive.pack(folder, out / "soak-logs.tar.xz", preset=2)
        result, records = soaking.result(folder), out / "results.jsonl"
        line = json.dumps(result) + "\n"
        if result is not None and not (records.exists() and line in records.read_text(encoding="utf-8")):
            with open(records, "a", encoding="utf-8") as file:
                file.write(line)


def stop(given: argparse.Namespace) -> int:
    """Tell it to end early, and wait for that."""
    folder = environment.Place(given.work).soak
    state = soaking.state(folder)
    if state and soaking.lives(folder):
        os.kill(state["pid"], signal.SIGTERM)
    return wait(given)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command of this module."""
    parser = argparse.ArgumentParser(prog="e2e.soak_run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("run", "start", "wait", "stop", "perform"))
    parser.add_argument("--carried", type=Path, help="folder that e2e.assemble made")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--work", type=Path, default=Path("/tmp/e2e"))
    parser.add_argument("--launch", choices=sorted(launches.ALL), default="served-custom-int8")
    parser.add_argument("--seconds", type=float, default=1200.0, help="of load, from the first question on")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--most", type=float, default=590.0, help="seconds that `wait` waits")
    parser.add_argument("--say-every", type=float, default=30.0)
    parser.add_argument("--prepared", action="store_true", help="environment and models are there")
    parser.add_argument("--turns", type=Path, help="load once FOLDER/all.timed is there, and say in FOLDER when the server is up")
    given = parser.parse_args(words)
    needed = {"run": ("carried", "out"), "start": ("carried",), "wait": ("out",), "stop": ("out",)}.get(given.command, ())
    missing = [f"--{name}" for name in needed if getattr(given, name) is None and not (name == "carried" and given.prepared)]
    if missing:
        parser.error(f"{given.command} needs {', '.join(missing)}")
    if given.command == "perform":
        return perform(given)
    if given.command == "start":
        print(f"started as process {begin(given).pid}")
        return 0
    if given.command == "run":
        given.most = float("inf")
        return run(given)
    return {"wait": wait, "stop": stop}[given.command](given)


def run(given: argparse.Namespace) -> int:
    """Begin, and wait for the end; Ctrl-C ends the load early and the server with it."""
    process = begin(given)
    try:
        return wait(given, process)
    except KeyboardInterrupt:
        process.terminate()
        return wait(given, process)


if __name__ == "__main__":
    sys.exit(main())
