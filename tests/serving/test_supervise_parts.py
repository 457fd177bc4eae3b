"""The parts of supervised serving by themselves: progress, masking, logs, exit statuses."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest

from resolver.serving import state
from resolver.serving.errors import LaunchError
from resolver.serving.progress import Progress
from resolver.serving.supervise_report import Ending, how
from resolver.serving.supervise_tree import Belongings

BOOT = (
    "(APIServer pid=1) INFO non-default args: {}",
    "(EngineCore pid=2) INFO Initializing a V1 LLM engine (v0.31.0)",
    "(Worker pid=3) INFO Starting to load model /m...",
    "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<00:00]",
    "(Worker pid=3) INFO Capturing CUDA graphs (decode, FULL):  25%|##",
    "(EngineCore pid=2) INFO Initializing a V1 LLM engine (v0.31.0)",
    "(APIServer pid=1) INFO Starting vLLM server on http://0.0.0.0:1",
)


def test_phases_are_lines_where_nothing_can_change() -> None:
    out = io.StringIO()
    progress = Progress(out)
    for line in BOOT:
        progress.read(line)
        progress.tick()
    lines = [line.split(" s  ")[1] for line in out.getvalue().splitlines()]
    assert lines == [
        "importing the engine",
        "reading the configuration",
        "starting the engine's processes",
        "loading the model",
        "capturing CUDA graphs",
        "opening the server",
    ], "each once, in order, and a late line of another process does not go back"
    assert [phase for phase, _ in progress.seen] == lines


def test_one_line_changes_on_a_terminal() -> None:
    out = io.StringIO()
    progress = Progress(out, live=True)
    for line in BOOT:
        progress.read(line)
        progress.tick()
    assert "\n" not in out.getvalue()
    assert "loading the model 50 %" in out.getvalue()
    progress.line("ready")
    assert out.getvalue().endswith("\r\x1b[2Kready\n")


def test_a_stream_that_is_gone_stops_nothing() -> None:
    out = io.StringIO()
    progress = Progress(out, live=True)
    out.close()
    progress.tick()
    progress.line("x")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_no_live_line_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", term)
    assert not Progress(Terminal()).live
    monkeypatch.setenv("TERM", "xterm")
    assert Progress(Terminal()).live


@pytest.mark.parametrize(
    ("argv", "environ", "secret"),
    [
        ([], {"VLLM_API_KEY": "k'1"}, "k'1"),
        ([], {"HF_TOKEN": "hf_abcdefgh"}, "hf_abcdefgh"),
        (["--api-key", "first-key", "second-key"], {}, "second-key"),
        (["--api-key=joined-key"], {}, "joined-key"),
        (['{"a": [{"api_key": "in\\"side"}]}'], {}, 'in"side'),
        ([], {"VLLM_API_KEY": "two\nlines"}, "lines"),
    ],
)
def test_secrets_are_masked_however_they_are_written(argv: list[str], environ: dict[str, str], secret: str) -> None:
    mask = state.Masker(["vllm", *argv], environ)
    for form in (secret, repr(secret)[1:-1], secret.replace('"', '\\"')):
        assert mask(f"args: [{form}]") == "args: [***]"


def test_what_is_no_secret_stays() -> None:
    mask = state.Masker(
        ["vllm", "--max-num-batched-tokens", "2048"], {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "A": "2048"}
    )
    assert mask("1 2048") == "1 2048"


def test_logs_go_where_the_environment_says(tmp_path: Path) -> None:
    assert state.folder({"LAUNCH_STATE_DIR": str(tmp_path)}) == tmp_path
    assert state.folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "launch-resolver"
    assert state.folder({"XDG_STATE_HOME": "relative"}).parts[-3:] == (".local", "state", "launch-resolver")
    (tmp_path / "file").write_text("")
    with pytest.raises(LaunchError, match="cannot be made"):
        state.log_path(None, {"LAUNCH_STATE_DIR": str(tmp_path / "file/x")}, "a")


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (Ending("once", True, 0), 0),
        (Ending("stopped", True, 0, signal.SIGTERM), 0),
        (Ending("stopped", False, 0, signal.SIGINT), 130),
        (Ending("died", True, 0), 1),
        (Ending("died", True, 5), 5),
        (Ending("died", True, -9), 137),
        (Ending("died", True, None), 1),
        (Ending("not ready", False, 0), 1),
        (Ending("guard killed", True, None), 1),
        (Ending("once", True, 0, left=(7,)), 1),
    ],
)
def test_exit_statuses(ending: Ending, status: int) -> None:
    assert ending.status == status


def test_exit_codes_in_words() -> None:
    assert how(3) == "exit status 3"
    assert how(-11) == "killed by SIGSEGV"
    assert how(-200) == "killed by 200"
    assert how(None) == "how is not known"


def test_only_files_of_the_engine_are_taken_up(tmp_path: Path) -> None:
    belongings = Belongings({"TMPDIR": str(tmp_path)})
    for name in ("vllm_dist_ab", "other"):
        (tmp_path / name).write_text("")
        belongings.name(str(tmp_path / name))
    belongings.name("/etc/vllm_dist_passwd")
    assert belongings.remove() == [str(tmp_path / "vllm_dist_ab")]
    assert os.listdir(tmp_path) == ["other"]
