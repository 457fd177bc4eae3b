"""`launch.py measure` as people run it: against a fake server, against arms that `serve` boots, and stopped in the middle."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from resolver.measure.ledger import read as read_ledger
from tests.measure.fake_server import KEY, FakeServer, Faults, running
from tests.serving.serving_cli import REPO, free_port, runs, until
from tools.cpu_engine import tiny_model

QUICK = ("--contexts", "600", "--repeats", "2", "--answer", "31")


def command(*words: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(REPO / "launch.py"), "measure", *words],
        env={**os.environ, **(env or {})},
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
        **more,
    )


def url(server: FakeServer) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_a_table_for_people() -> None:
    with running(FakeServer()) as server:
        done = command("--url", url(server), "tool-call", "prefill", "decode", *QUICK)
    assert (done.returncode, done.stderr) == (0, "")
    assert "decode: clean" in done.stdout
    assert "decode_tok_s" in done.stdout
    assert "context 600, streams 1, task summary" in done.stdout


def test_json_for_programs() -> None:
    with running(FakeServer(Faults(foreign=3))) as server:
        done = command("--url", url(server), "prefill", "--json", *QUICK)
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert data["reports"][0]["verdict"] == "inconclusive"
    assert not data["reports"][0]["measurements"][0]["sound"]


def test_the_key_comes_from_the_environment_and_is_nowhere_shown(tmp_path: Path) -> None:
    with running(FakeServer(key=KEY)) as server:
        kept = tmp_path / "kept.jsonl"
        words = ("--url", url(server), "prefill", "--json", "--resume", str(kept), *QUICK)
        done = command(*words, env={"VLLM_API_KEY": KEY})
        assert done.returncode == 0, done.stderr
        without = command(*words, env={"VLLM_API_KEY": ""})
    assert without.returncode == 1
    assert "status 401" in without.stderr
    assert "fix: set VLLM_API_KEY" in without.stderr
    assert KEY not in done.stdout + done.stderr + without.stdout + without.stderr + kept.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("decod",), "did you mean decode?"),
        (("--contexts", "1m"), "--contexts takes whole numbers"),
        (("--contexts", ""), "--contexts needs a value"),
        (("--streams", "0"), "--streams takes whole numbers from 1"),
        (("--tasks", "poem"), "--tasks has no task poem"),
        (("perplexity",), "name it with --text FILE"),
        (("exact-match",), "--questions FILE"),
        (("--text", "/nowhere.txt"), "/nowhere.txt cannot be read"),
        (("--into", "mtp-fast-flash-bf16"), "name the launch with --profile"),
        (("--matrix", "/nowhere.yaml"), "/nowhere.yaml"),
        (("--matrix", "/nowhere.yaml", "--contexts", "1k"), "--contexts has no place beside --matrix"),
        (("--matrix", "/nowhere.yaml", "sk-a-word-that-is-a-key"), "(a word that is not shown) has no place"),
        (("--matrix", "/nowhere.yaml", "--resume", "/dev/null"), "/dev/null cannot be written (it is a device"),
        (("--matrix", "/nowhere.yaml", "--", "--seed", "7"), "-- has no place beside --matrix"),
        (("--resume", "/nowhere/x"), "/nowhere/x cannot be written"),
    ],
)
def test_errors_have_a_way_out(words: tuple[str, ...], says: str) -> None:
    with running(FakeServer()) as server:
        more = () if words[0] == "--matrix" else ("--url", url(server))
        done = command(*more, *words)
    assert done.returncode in (1, 2, 3)
    assert done.stderr.startswith("error: ") or "error: " in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--resume", "--ledger"])
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "/dev/null", "folder", "nowhere", "/proc/x", "long"])
def test_what_is_no_file_is_refused_before_a_server_is_asked(tmp_path: Path, option: str, kind: str) -> None:
    place = tmp_path / "place"
    if "pipe" in kind:
        os.mkfifo(place)
    if kind.startswith("link"):
        (tmp_path / "link").symlink_to(place)
        place = tmp_path / "link"
    elif kind == "folder":
        place.mkdir()
    elif kind == "nowhere":
        (tmp_path / "file").write_text("")
        place = tmp_path / "file" / "x"
    elif kind.startswith("/"):
        place = Path(kind)
    elif kind == "long":
        place = tmp_path / ("n" * 300)
    done = command("--url", f"127.0.0.1:{free_port()}", "prefill", option, str(place), *QUICK)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert f"{place} cannot be written" in done.stderr
    assert f"another file with {option}" in done.stderr


@pytest.mark.parametrize("room", [600, 1000])
def test_a_file_of_pieces_that_takes_no_more_costs_no_report(tmp_path: Path, room: int) -> None:
    kept = tmp_path / "kept.jsonl"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    with running(FakeServer()) as server:
        words = ("--url", url(server), "prefill", "decode", "--json", "--resume", str(kept), *QUICK)
        done = command(*words, preexec_fn=limit, env={"PYTHONDONTWRITEBYTECODE": "1", "LAUNCH_CACHE_DIR": ""})
        assert done.returncode == 0, done.stderr
        assert f"note: {kept} cannot be written any more (File too large)" in done.stderr
        assert [report["tool"] for report in json.loads(done.stdout)["reports"]] == ["prefill", "decode"]
        assert 0 < kept.stat().st_size <= room
        again = command(*words)
    assert again.returncode == 0, again.stderr


def test_nobody_there() -> None:
    done = command("--url", f"127.0.0.1:{free_port()}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nobody answers" in done.stderr
    assert "launch.py serve" in done.stderr


def test_sound_numbers_go_to_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with running(FakeServer(Faults(never_hits=True))) as server:
        done = command("--url", url(server), "ttft", "needle", "--ledger", str(ledger), *QUICK)
    assert done.returncode == 1
    records = read_ledger(ledger).records
    assert {record.measurement.metric for record in records} == {"ttft_s", "pct", "needle_tokens"}
    assert all(record.provenance.engine == "0.31.0" for record in records)
    assert f"{len(records)} figures were added" in done.stderr


def test_numbers_of_a_server_that_is_not_the_launch_are_not_recorded(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with running(FakeServer()) as server:
        words = ("--url", url(server), "--profile", "cpu-tiny", "--machine", "cpu-only", "prefill", *QUICK)
        done = command(*words, "--ledger", str(ledger))
    assert done.returncode == 1
    assert "the server is not this launch, so nothing is recorded: " in done.stderr
    assert not ledger.exists()


def test_ctrl_c_keeps_what_was_measured_and_it_goes_on_later(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    with running(FakeServer(per_step=0.02)) as server:
        words = ["--url", url(server), "decode", "--contexts", "600", "--repeats", "6", "--answer", "91", "--json"]
        words += ["--resume", str(kept)]
        process = subprocess.Popen(
            [sys.executable, str(REPO / "launch.py"), "measure", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert until(lambda: kept.exists() and kept.read_text().count("\n") >= 3, 60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        data = json.loads(out)
        assert data["interrupted"]
        first = data["reports"][0]["measurements"][0]
        assert 2 <= first["n"] < 6
        done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "pieces of" in done.stderr
    assert json.loads(done.stdout)["reports"][0]["measurements"][0]["n"] == 6


def test_bars_on_a_terminal_only() -> None:
    """Standard error is a terminal, standard output is not: the bars go there, the numbers here."""
    ours, theirs = pty.openpty()
    with running(FakeServer(per_step=0.005)) as server:
        process = subprocess.Popen(
            [sys.executable, str(REPO / "launch.py"), "measure", "--url", url(server), "decode", *QUICK],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm"},
            text=True,
        )
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the process is
            while part := os.read(ours, 65536):
                shown += part
        out, _ = process.communicate(timeout=60)
        os.close(ours)
    assert process.returncode == 0, shown
    assert b"decode" in shown
    assert b"/2" in shown
    assert "decode: clean" in out
    assert "\x1b" not in out


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin/vllm"
    script.write_text(f"#!{sys.executable}\n" + (REPO / "tests/measure/fake_engine.py").read_text())
    script.chmod(0o755)
    return folder


def matrix_of(tmp_path: Path, venv: Path) -> tuple[Path, dict[str, str]]:
    path = tmp_path / "arms.yaml"
    tiny_model.make(tmp_path / "model")
    shared = f"ENGINE_VENV: {venv}, MODEL: {tmp_path / 'model'}, HOST: 127.0.0.1, PORT: {free_port()}"
    path.write_text(
        "rounds: 2\ntools: [decode]\ncontexts: [600]\nrepeats: 2\nanswer: 61\narms:\n"
        f"  two: {{profile: cpu-tiny, knobs: {{{shared}, MAX_SEQS: 2}}}}\n"
        f"  four: {{profile: cpu-tiny, knobs: {{{shared}, MAX_SEQS: 4}}}}\n"
    )
    env = {
        "PYTHONPATH": str(REPO),
        "FAKE_LOG": str(tmp_path / "boots"),
        "LAUNCH_STATE_DIR": str(tmp_path / "state"),
        "TMPDIR": str(tmp_path),
    }
    return path, env


def test_a_matrix_boots_the_arms_in_turn(tmp_path: Path, venv: Path) -> None:
    path, env = matrix_of(tmp_path, venv)
    done = command("--matrix", str(path), "--json", env=env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "boots").read_text().split() == ["2", "4", "2", "4"]
    data = json.loads(done.stdout)
    (row,) = (row for row in data["comparison"] if row["metric"] == "decode_tok_s")
    assert (row["first"], row["other"], row["pairs"]) == ("two", "four", 2)
    assert row["ratio"] > 1.1
    table = command("--matrix", str(path), "--resume", str(tmp_path / "kept"), "--quiet", env={**env, "FAKE_DEAD": "4"})
    assert table.returncode == 1
    assert "round 1, four: nothing follows from it: it did not become ready" in table.stdout
    assert "nothing can be compared" in table.stdout


def test_a_matrix_draws_nothing_from_an_arm_that_answers_wrongly(tmp_path: Path, venv: Path) -> None:
    path, env = matrix_of(tmp_path, venv)
    done = command("--matrix", str(path), "--json", env={**env, "FAKE_WRONG": "2"})
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["comparison"] == []
    assert {run["arm"]: run["why_not"] for run in data["runs"]} == {
        "two": "tool-call: forced call: no tool was called",
        "four": "",
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_matrix_that_is_stopped_leaves_no_server(tmp_path: Path, venv: Path, number: int) -> None:
    from resolver.serving.supervise_tree import below

    path, env = matrix_of(tmp_path, venv)
    process = subprocess.Popen(
        [sys.executable, str(REPO / "launch.py"), "measure", "--matrix", str(path)],
        env={**os.environ, **env, "FAKE_STEP_MS": "400"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert until((tmp_path / "boots").exists, 60)
    time.sleep(0.5)
    tree = below(process.pid)
    assert len(tree) >= 3
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -9), err
    assert until(lambda: not any(map(runs, tree)), 30)
