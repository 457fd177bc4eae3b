# SPDX-License-Identifier: Apache-2.0
"""The run on the GPU machine: resolve the launches, boot them together, time them in turn, compare answers, load a server.

    python -m e2e.run PLAN --carried FOLDER --out FOLDER [--work FOLDER] [--seconds N] [--keep-cache]

PLAN is a name of `e2e.plans`. In OUT: results.jsonl, launches.json, logs.tar.xz, answers.tar.xz and, if asked, cache.tar.xz.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from e2e import archive, environment, launches, plans, soak, soak_run, soaking

QUIET_LOGS = 40


class Session:
    """One run: its folders, its deadline, the engines it started."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.plan = plans.ALL[given.plan]
        self.carried, self.out, self.work = given.carried.resolve(), given.out.resolve(), given.work
        self.deadline = time.time() + given.seconds
        self.keep_cache = given.keep_cache
        self.turns, self.logs, self.answers = self.work / "turns", self.work / "logs", self.work / "answers"
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self.begun = time.time()

    def say(self, text: str) -> None:
        """A line with the seconds since the start."""
        print(f"[{time.time() - self.begun:5.1f}] {text}", flush=True)

    def prepare(self) -> None:
        """Environment, caches, models."""
        for folder in (self.turns, self.logs, self.answers):
            shutil.rmtree(folder, ignore_errors=True)                 # what an earlier run said is not for this one
        for folder in (self.out, self.turns, self.logs, self.answers):
            folder.mkdir(parents=True, exist_ok=True)
        self.place = environment.prepare(self.carried, self.work)
        self.environ = self.place.variables()
        self.say("environment and models are there")

    def resolve(self) -> None:
        """What `launch.py` makes of each launch here, and what `fit` predicts of its pool."""
        names = [*self.plan.engines, *([self.plan.served] if self.plan.served else [])]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(self._resolve, names))
        self.resolved = {name: answer for name, answer in zip(names, found, strict=True) if answer}
        (self.out / "launches.json").write_text(json.dumps(self.resolved, indent=1), encoding="utf-8")
        self.refused = len(names) - len(self.resolved)
        self.say(f"{len(self.resolved)} of {len(names)} launches resolved")

    def _resolve(self, name: str) -> dict[str, Any] | None:
        try:
            return launches.described(name, self.place.models, self.place.venv)
        except (RuntimeError, KeyError) as error:
            self.say(f"{name}: {error}")
            return None

    def start(self) -> None:
        """Start all engines, and the server if the plan has one."""
        names = [name for name in self.plan.engines if name in self.resolved]
        for name in names:
            resolved = self.resolved[name]
            work = self.plan.engines[name]
            task = {"name": name, "names": names, "others": ["server"] if self.plan.served in self.resolved else [], "words": resolved["argv"][2:], "out": str(self.answers),
                    "turns": str(self.turns), "deadline": self.deadline - 8, "boot_wait": self.plan.boot_wait,
                    "contexts": work.contexts, "answers": work.answers, "reserve": self.plan.reserve,
                    "residue_block": work.residue_block, "spoil": work.spoil}
            file = self.work / f"task-{name}.json"
            file.write_text(json.dumps(task), encoding="utf-8")
            environ = {**self.environ, **resolved["env"]["set"], "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
            for variable in resolved["env"]["unset"]:
                environ.pop(variable, None)
            self._spawn(name, [str(self.place.venv / "bin/python"), "-m", "e2e.engine", str(file)], environ)
        if self.plan.served in self.resolved and self.plan.soak:
            self.started["server"] = soak_run.begin(argparse.Namespace(
                work=self.work, prepared=True, seconds=self.plan.soak, launch=self.plan.served, streams=4, turns=self.turns))
        elif self.plan.served in self.resolved:
            self._spawn("server", launches.server(self.plan.served, self.place.models, self.place.venv), self.environ)
        self.names = names

    def _spawn(self, name: str, words: list[str], environ: dict[str, str]) -> None:
        with open(self.logs / f"{name}.log", "wb") as log:
            self.started[name] = subprocess.Popen(words, env=environ, stdout=log, stderr=subprocess.STDOUT,
                                                  stdin=subprocess.DEVNULL, start_new_session=True, cwd=launches.ROOT)

    def watch(self) -> None:
        """Until all engines ended or the time is up. The server is loaded once nobody is timed any more."""
        loaded = "server" not in self.started
        while time.time() < self.deadline:
            going = [name for name in self.names if self._going(name)]
            if "server" in self.started and self._going("server") and not self.plan.soak and soak.get(soaking.PORT, "/health", 1):
                (self.turns / "server.up").touch()
            if not loaded and all((self.turns / f"{n}.timed").exists() or (self.turns / f"{n}.dead").exists() for n in self.names):
                loaded = True
                (self.turns / "all.timed").touch()
                self.say("nobody is timed any more: the server is loaded" + (", beyond this run" if self.plan.soak else ""))
                if not self.plan.soak:
                    self._load()
            if not going:
                return
            time.sleep(0.2)
        self.say("the time is up")

    def _going(self, name: str) -> bool:
        status = self.started[name].poll()
        if status is not None and not (self.turns / f"{name}.dead").exists():
            (self.turns / f"{name}.dead").touch()
            self.say(f"{name} ended with status {status}")
        return status is None

    def _load(self) -> None:
        server = self.started["server"]
        if not soak.wait_for(soaking.PORT, self.deadline - 20, lambda: server.poll() is None):
            self.say("the server is not there")
            return
        result = soak.Load(soaking.PORT, "qwen3.8-27b", 4, self.deadline - self.plan.after_load).run()
        result["alive"] = server.poll() is None
        with open(self.answers / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps({"launch": self.plan.served, "kind": "soak", **result}) + "\n")
        self.say(f"soak: {json.dumps(result)}")

    def end(self) -> None:
        """Stop what is left, and put what came of it into OUT. A load that is to outlast the run goes on."""
        stopped = {name: process for name, process in self.started.items() if not (name == "server" and self.plan.soak)}
        if len(stopped) < len(self.started):
            (self.turns / "all.timed").touch()
            self.say(f"the load, which goes on: {soak_run.progress_line(self.place.soak)}")
        for name, process in stopped.items():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM if name == "server" else signal.SIGKILL)
        deadline = time.time() + 6
        for process in stopped.values():
            try:
                process.wait(max(0.1, deadline - time.time()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        results = self.answers / "results.jsonl"
        if results.exists():
            shutil.move(results, self.out / "results.jsonl")
        archive.pack(self.logs, self.out / "logs.tar.xz", preset=2)
        archive.pack(self.answers, self.out / "answers.tar.xz", preset=2)
        if self.keep_cache:
            kept = self.work / "kept"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.place.cache, kept / "cache", symlinks=True)
            self.say(f"cache: {archive.pack(kept, self.out / 'cache.tar.xz', archive.UNUSED_KERNEL_TEXT, 1)} bytes")
        self.say("end")

    def tails(self) -> None:
        """The last lines of every engine that did not end well."""
        for name, process in self.started.items():
            if process.returncode and name != "server":
                lines = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()
                self.say(f"--- {name}, status {process.returncode}")
                print("\n".join(line[:220] for line in lines[-QUIET_LOGS:]), flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Run a plan. Returns 0 when every launch was resolved and every engine ended by itself and well."""
    parser = argparse.ArgumentParser(prog="e2e.run")
    parser.add_argument("plan", choices=sorted(plans.ALL))
    parser.add_argument("--carried", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/e2e"))
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--keep-cache", action="store_true")
    session = Session(parser.parse_args(words))
    session.prepare()
    session.resolve()
    try:
        session.start()
        session.watch()
    finally:
        session.end()
    session.tails()
    return int(session.refused > 0 or any(session.started[name].returncode for name in session.names))


if __name__ == "__main__":
    sys.exit(main())
