"""How are several arms measured so that they compare? Booted in turn, A, B, A, B; each boot measured alike; one server at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from resolver.measure import session
from resolver.measure.compare import Run
from resolver.measure.journal import Bar, Journal, Record
from resolver.measure.matrix_file import Arm, Matrix
from resolver.measure.measurement import Measurement
from resolver.measure.server import Server
from resolver.serving.errors import LaunchError

NAME, VERSION = "matrix", 1
Boot = Callable[[Arm], AbstractContextManager[Server]]


def run(
    matrix: Matrix, boot: Boot, journal: Journal, bar: Bar | None = None, say: Callable[[str], None] = lambda text: None
) -> list[Run]:
    """Measure every boot that the journal does not have yet.

    Args:
        matrix: what is compared.
        boot: starts an arm and gives its server, ready; stops it in the end. A LaunchError says that it did not come up.
        journal: keeps whole boots: one that was interrupted is measured again.
        bar: shows the pieces of a boot.
        say: told what happens.

    Returns:
        The boots that were measured, in order.
    """
    arms = {arm.name: arm for arm in matrix.arms}

    def work(key: str) -> Record:
        number, _, name = key.partition("/")
        say(f"round {number} of {matrix.rounds}: {name}")
        inner = Journal(bar)
        done: session.Session | None = None
        try:
            with boot(arms[name]) as server:
                done = session.run(server, matrix.wish, inner)
                if done.interrupted:
                    raise KeyboardInterrupt
        except LaunchError as error:
            return {"problem": error.message, "reports": []}
        except KeyboardInterrupt:
            if done is None or done.interrupted:
                raise
            journal.interrupted = True  # while the arm was stopped: what was measured on it is whole
        return {"problem": "", **done.as_json()}

    keys = [f"{number}/{arm.name}" for number, arm in matrix.runs()]
    kept = journal.pieces(f"{NAME}.{VERSION}", (matrix.arms, matrix.wish), keys, work)
    return [_run(key, record) for key, record in kept.items()]


def _run(key: str, record: Record) -> Run:
    """What may be used of a boot: nothing where it did not come up, or where a check of its answers failed."""
    number, _, name = key.partition("/")
    why = str(record["problem"])
    for report in record["reports"]:
        for finding in report["findings"]:
            if not why and finding["verdict"] == "broken":
                why = f"{report['tool']}: {finding['subject']}: {finding['reason']}"
    measured = tuple(Measurement.from_json(one) for report in record["reports"] for one in report["measurements"])
    return Run(int(number), name, why, measured)
