"""Arms in turn: A, B, A, B; what follows is of boots and pairs, and nothing follows from a boot whose checks failed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from resolver.cli.dispatch import main
from resolver.cli.start import guarded
from resolver.diagnostics import RulesError
from resolver.measure import compare, matrix, matrix_boot, matrix_file
from resolver.measure.compare import Run
from resolver.measure.journal import Journal
from resolver.measure.matrix_file import Arm
from resolver.measure.measurement import Measurement
from resolver.measure.server import Server
from resolver.serving.client import Client
from resolver.serving.errors import LaunchError
from tests.measure.fake_server import FakeServer, Faults, running

FILE = """\
rounds: 3
tools: [prefill, decode]
contexts: [600]
repeats: 2
answer: 31
arms:
  slow: {profile: mtp-long, knobs: {MAX_SEQS: 4, LOOKUP: on}}
  fast: {profile: mtp-long, knobs: {MAX_SEQS: 8}, args: ["--seed", 7]}
"""


def load(folder: Path, text: str = FILE) -> matrix_file.Matrix:
    path = folder / "m.yaml"
    path.write_text(text)
    return matrix_file.load(path)


def test_a_file(tmp_path: Path) -> None:
    found = load(tmp_path)
    assert [arm.words() for arm in found.arms] == [
        ["--profile", "mtp-long", "MAX_SEQS=4", "LOOKUP=on"],
        ["--profile", "mtp-long", "MAX_SEQS=8", "--", "--seed", "7"],
    ]
    assert [(number, arm.name) for number, arm in found.runs()] == [(n, a) for n in (1, 2, 3) for a in ("slow", "fast")]
    assert found.wish.tools == ("tool-call", "prefill", "decode")  # a check is among them, asked for or not
    assert (found.wish.contexts, found.wish.repeats, found.wish.answer) == ((600,), 2, 31)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("rounds: 3", "round: 3"), ":1:1: there is no key round here"),
        (("rounds: 3", "rounds: 0"), ":1:9: `rounds` takes whole numbers"),
        (("rounds: 3", "rounds: yes"), ":1:9"),
        (("prefill", "prefil"), ":2:9: `tools` has no prefil here"),
        (("[600]", "600"), ":3:11: `contexts` is a list"),
        (("[600]", "[6, a]"), ":3:12"),
        (
            ("profile: mtp-long, knobs: {MAX_SEQS: 4", "profiles: x, knobs: {MAX_SEQS: 4"),
            ":7:10: there is no key profiles here",
        ),
        (("{MAX_SEQS: 4, LOOKUP: on}", "[MAX_SEQS]"), ":7:36: knobs are a mapping"),
        ((FILE[FILE.index("  fast") :], ""), "two arms"),
        ((FILE, "- a\n"), "a mapping with `arms`"),
        ((FILE, "rounds: ["), "not valid YAML"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(RulesError) as caught:
        load(tmp_path, FILE.replace(*change, 1))
    first = caught.value.diagnostics[0]
    assert says in f"{first.position}: {first.message}"
    assert first.fix


def number(value: float, metric: str = "decode_tok_s", sound: bool = True) -> Measurement:
    return Measurement(metric, value, "tok/s", 3, conditions={"context": 600, "streams": 1}, sound=sound)


def runs(pairs: list[tuple[float, float]], metric: str = "decode_tok_s") -> list[Run]:
    return [
        Run(at, arm, "", (number(value, metric),))
        for at, pair in enumerate(pairs, 1)
        for arm, value in zip(("a", "b"), pair, strict=True)
    ]


def test_a_difference_and_its_interval() -> None:
    (row,) = compare.rows(runs([(100, 120), (110, 133), (90, 107)]), ["a", "b"])
    assert (row.pairs, row.first_value, row.other_value, row.says) == (3, 100, 120, "higher")
    assert row.ratio == pytest.approx(1.199, abs=0.001)
    assert row.low is not None
    assert row.high is not None
    assert 1.1 < row.low < 1.2 < row.high < 1.3
    assert compare.rows(runs([(120, 100), (133, 110), (107, 90)]), ["a", "b"])[0].says == "lower"


def test_no_difference_is_not_called_one() -> None:
    assert compare.rows(runs([(100, 130), (130, 100), (100, 104)]), ["a", "b"])[0].says == "no difference shown"


def test_one_round_tells_nothing() -> None:
    (row,) = compare.rows(runs([(100, 200)]), ["a", "b"])
    assert (row.ratio, row.says) == (None, "too few rounds to tell")


def test_nothing_is_drawn_from_a_boot_whose_checks_failed() -> None:
    some = runs([(100, 120), (110, 132), (90, 500)])
    some[5] = Run(3, "b", "tool-call: forced call: no tool was called", some[5].measurements)
    (row,) = compare.rows(some, ["a", "b"])
    assert (row.pairs, row.ratio) == (2, pytest.approx(1.2))
    assert compare.rows([Run(run.number, run.arm, "broken", run.measurements) for run in some], ["a", "b"]) == []


def test_a_number_that_is_not_sound_is_left_out() -> None:
    some = runs([(100, 120), (110, 132)])
    some.append(Run(3, "a", "", (number(5, sound=False),)))
    some.append(Run(3, "b", "", (number(500),)))
    assert compare.rows(some, ["a", "b"])[0].pairs == 2


def test_other_work_is_told_of() -> None:
    assert "other turns" in compare.other_work(compare.rows(runs([(2.5, 3.0)] * 2, "tokens_per_step"), ["a", "b"]))[0]
    assert compare.other_work(compare.rows(runs([(2.5, 2.51)] * 2, "tokens_per_step"), ["a", "b"])) == []


def test_boots_are_in_turn_and_are_kept(tmp_path: Path) -> None:
    asked = load(tmp_path)
    booted: list[str] = []
    left = [4]

    @contextmanager
    def boot(arm: Arm) -> Iterator[Server]:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        booted.append(arm.name)
        if arm.name == "fast" and booted.count("fast") == 1:
            raise LaunchError("it did not become ready: no room", "start it alone")
        with running(FakeServer(per_step=0.004 if arm.name == "slow" else 0.001)) as server:
            yield server.server()

    journal = Journal()
    found = matrix.run(asked, boot, journal)
    assert journal.interrupted
    assert booted == ["slow", "fast", "slow", "fast"]
    assert [(run.number, run.arm, run.why_not) for run in found] == [
        (1, "slow", ""),
        (1, "fast", "it did not become ready: no room"),
        (2, "slow", ""),
        (2, "fast", ""),
    ]
    left[0], journal.interrupted = 9, False
    found = matrix.run(asked, boot, journal)
    assert booted[4:] == ["slow", "fast"]
    rows = {row.metric: row for row in compare.rows(found, ["slow", "fast"])}
    assert rows["decode_tok_s"].pairs == 2
    assert rows["decode_tok_s"].other_value > rows["decode_tok_s"].first_value


def test_a_boot_that_answers_wrongly_gives_nothing(tmp_path: Path) -> None:
    asked = load(tmp_path)

    @contextmanager
    def boot(arm: Arm) -> Iterator[Server]:
        with running(FakeServer(Faults(fail_after=3) if arm.name == "fast" else None)) as server:
            yield server.server()

    found = matrix.run(asked, boot, Journal())
    assert all(bool(run.why_not) == (run.arm == "fast") for run in found)
    assert compare.rows(found, ["slow", "fast"]) == []


class Slow(matrix_boot.subprocess.Popen):  # type: ignore[type-arg,name-defined]
    """Stands in for `serve`: it is ready at once, and takes its time to stop."""

    code = (
        "import signal, sys, time\n"
        "def end(*_):\n    open(sys.argv[1], 'a').write('t')\n    time.sleep({0})\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('1 s  ready: yes', file=sys.stderr, flush=True)\ntime.sleep(60)"
    )

    def __init__(self, words: list[str], **more: object) -> None:
        seconds, place = words[-1].split(":")
        super().__init__([sys.executable, "-c", self.code.format(seconds), place], **more)


def press(after: float) -> None:
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_a_ctrl_c_while_an_arm_is_stopped_ends_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped in peace, what was measured on it is kept, and no further arm is booted."""
    monkeypatch.setattr(matrix_boot.subprocess, "Popen", Slow)
    asked = load(tmp_path, FILE.replace("[prefill, decode]", "[tool-call]"))
    booted: list[str] = []
    place = tmp_path / "signals"

    @contextmanager
    def boot(arm: Arm) -> Iterator[Server]:
        booted.append(arm.name)
        with (
            running(FakeServer()) as server,
            matrix_boot.booted([f"1:{place}"], server.server(), tmp_path, os.environ) as ready,
        ):
            yield ready
            press(0.4)

    journal = Journal()
    found = matrix.run(asked, boot, journal)
    assert (booted, journal.interrupted) == (["slow"], True)
    assert [(run.arm, run.why_not) for run in found] == [("slow", "")]
    assert place.read_text() == "t"  # it was not hurried


def test_a_second_ctrl_c_hurries_the_stopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_boot.subprocess, "Popen", Slow)
    place = tmp_path / "signals"
    server = Server(Client("127.0.0.1", 1), "m")

    def stopped(presses: tuple[float, ...]) -> None:
        with matrix_boot.booted([f"1.5:{place}"], server, tmp_path, os.environ):
            for after in presses:
                press(after)
            if len(presses) == 1:
                raise KeyboardInterrupt

    for presses in ((0.4, 0.8), (0.4,)):
        with pytest.raises(KeyboardInterrupt):
            stopped(presses)
        assert place.read_text().startswith("tt")
        place.unlink()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_name_of_an_arm_does_not_repaint_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither where its launch is refused, nor where it is booted (and fails at once), nor in an error, nor in the table."""
    path = tmp_path / "m.yaml"
    name, free = r'"\e[31m\r\a\u009bx\n"', "knobs: {HOST: 127.0.0.1, ENGINE_VENV: /nowhere, PORT: 1}"
    for arm in ("profile: nobody", f"profile: cpu-tiny, {free}", "profil: x", "args: 5", "knobs: {HOSTS: 1}"):
        path.write_text(f"rounds: 1\narms:\n  {name}: {{{arm}}}\n  b: {{profile: cpu-tiny, {free}}}\n")
        assert guarded(lambda: main(["measure", "--matrix", str(path)])) in (1, 3)
        found = capfd.readouterr()
        assert "Traceback" not in found.err
        for char in "\x1b\r\a\x9b":
            assert char not in found.out + found.err
