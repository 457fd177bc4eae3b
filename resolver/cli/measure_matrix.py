"""`launch.py measure --matrix FILE`: several arms, booted and measured in turn, and what follows from the comparison."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from resolver.cli.dispatch import shown_word
from resolver.cli.options import Line
from resolver.cli.start import INTERRUPTED, OK, REFUSED, put, say
from resolver.diagnostics import UsageError
from resolver.shown import clean

if TYPE_CHECKING:
    from resolver.measure.compare import Row, Run
    from resolver.measure.matrix_file import Arm
    from resolver.measure.server import Server

BESIDE = ("--matrix", "--resume", "--json", "--quiet", "--verbose")


def run(line: Line) -> int:
    """Compare; exit status 0 where every boot could be used, 1 where one could not, 130 after Ctrl-C."""
    beside = [*line.options, *(word for word, _ in line.words[1:]), *(knob for knob, _, _ in line.assignments)]
    for name in [*beside, *(["--"] if line.args else [])]:
        if name not in BESIDE:
            raise UsageError(f"{shown_word(name)} has no place beside --matrix", "write it into the file of --matrix")
    from resolver.compile import product_root
    from resolver.measure import compare, matrix, matrix_file
    from resolver.measure.corpus import digest
    from resolver.measure.journal import Journal, check
    from resolver.measure.matrix_boot import booted
    from resolver.measure.progress import bar

    if line.given("--resume"):
        check(Path(str(line.get("--resume"))))
    path = Path(str(line.get("--matrix")))
    asked = matrix_file.load(path)
    root = product_root()
    servers: dict[str, Server] = {}
    for arm in asked.arms:  # all of them before the first is booted
        found = _resolved(line, arm)
        if isinstance(found, int):
            return found
        servers[arm.name] = found
    quiet = line.given("--quiet")
    journal = Journal()
    if line.given("--resume"):
        what = {"model": "matrix", "root": digest(repr((asked.arms, asked.wish))), "version": ""}
        journal.open(Path(str(line.get("--resume"))), what, lambda text: say(f"note: {text}\n"))

    def boot(arm: Arm) -> AbstractContextManager[Server]:
        def tell(text: str) -> None:
            if line.given("--verbose"):
                say(f"  {clean(text)}\n")

        return booted(arm.words(), servers[arm.name], root, os.environ, tell)

    try:
        runs = matrix.run(asked, boot, journal, bar(quiet), lambda text: None if quiet else say(f"{clean(text)}\n"))
    finally:
        journal.close()
    rows = compare.rows(runs, [arm.name for arm in asked.arms])
    remarks = compare.other_work(rows)
    if asked.rounds < 2:
        remarks.append("one round has no interval: boots of one launch differ, so set rounds to 2 at least")
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump(_data(runs, rows, remarks, journal.interrupted)))
    else:
        from resolver.views.compared import show
        from resolver.views.page import stdout_page

        show(runs, rows, remarks, stdout_page())
    if journal.interrupted:
        say("interrupted: what was measured until then is kept\n")
        return INTERRUPTED
    return OK if rows and not any(run.why_not for run in runs) else REFUSED


def _resolved(line: Line, arm: Arm) -> Server | int:
    """Where an arm will listen; an exit status where its launch is refused."""
    from dataclasses import replace

    from resolver.cli.ask import ask
    from resolver.cli.resolve import level_of
    from resolver.compile import product_root
    from resolver.measure.server import WAIT, Server
    from resolver.serving import secrets, supervise_plan
    from resolver.views.page import stderr_page
    from resolver.views.terminal import show_resolution

    where = f"{line.get('--matrix')}, arm {arm.name}"
    options = {"--profile": arm.profile} if arm.profile else {}
    knobs = [(name, value, where) for name, value in arm.knobs.items()]
    answer = ask(Line(options, [], knobs, list(arm.args) or None))
    if answer.resolution.refused:
        say(f"the arm {clean(arm.name)}:\n")
        show_resolution(answer.resolution, stderr_page(), level_of(line), answer.notes, command=False)
        return REFUSED
    target = supervise_plan.target_of(
        answer.resolution, secrets.with_key(dict(os.environ), product_root() / secrets.FILE)
    )
    return Server(replace(target.client, wait=WAIT), target.model)


def _data(runs: list[Run], rows: list[Row], remarks: list[str], interrupted: bool) -> dict[str, object]:
    return {
        "schema": 1,
        "interrupted": interrupted,
        "runs": [
            {
                "round": run.number,
                "arm": run.arm,
                "why_not": run.why_not,
                "measurements": [one.as_json() for one in run.measurements],
            }
            for run in runs
        ],
        "comparison": [row.as_json() for row in rows],
        "remarks": remarks,
    }
