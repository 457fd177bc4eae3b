"""The launch is an exec: argv, environment, exit status and signals are the engine's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.serving import launch as module
from resolver.serving import regions
from resolver.serving.errors import LaunchError

REPO = Path(__file__).resolve().parents[2]
KEY = "sk-do-not-show-me"

ENGINE = f"""#!{sys.executable}
import json, os, signal, sys, time
fds = sorted(int(name) for name in os.listdir("/proc/self/fd"))
with open("seen.json", "w") as out:
    json.dump({{"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(),
               "fds": fds}}, out)
print("engine up", flush=True)
if sys.argv[-1] == "exit":
    sys.exit(37)
if sys.argv[-1] == "own-handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    print("handler set", flush=True)
time.sleep(60)
"""

CHILD = """
import json, sys
from pathlib import Path
from resolver.serving.launch import launch
from resolver.serving.errors import LaunchError
ask = json.loads(sys.argv[1])
ask["cwd"] = Path(ask["cwd"])
if ask.get("key_file"):
    ask["key_file"] = Path(ask["key_file"])
print("about to start")
try:
    launch(**ask)
except LaunchError as error:
    print(error, file=sys.stderr)
    sys.exit(1)
"""


def write_engine(root: Path, text: str = ENGINE) -> Path:
    path = root / "venv/bin/vllm"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def start(root: Path, last: str, env: dict[str, str] | None = None, **more: object) -> subprocess.Popen[str]:
    ask = {"argv": ["venv/bin/vllm", "serve", "a b", '{"x":1}', "", last], "env": env or {}, "cwd": str(root), **more}
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(ask)],
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**buffered, "CALLER_ONLY": "1"},
    )


def seen(root: Path) -> dict[str, object]:
    found = json.loads((root / "seen.json").read_text())
    assert isinstance(found, dict)
    return found


def test_argv_environment_folder_pid_and_status(tmp_path: Path) -> None:
    engine = write_engine(tmp_path)
    child = start(tmp_path, "exit", {"A": "1", "EMPTY": "", "PATH": "/nowhere"})
    out, err = child.communicate(timeout=30)
    assert (child.returncode, err) == (37, "")
    assert out == "about to start\nengine up\n"
    found = seen(tmp_path)
    assert found["argv"] == [str(engine), "serve", "a b", '{"x":1}', "", "exit"]
    assert {key: value for key, value in found["env"].items() if key != "LC_CTYPE"} == {  # type: ignore[attr-defined]
        "A": "1",
        "EMPTY": "",
        "PATH": "/nowhere",
    }
    assert found["cwd"] == str(tmp_path)
    assert found["pid"] == child.pid


def test_what_python_ignores_is_not_ignored_by_the_engine(tmp_path: Path) -> None:
    """The fake engine is a Python too, which sets SIGPIPE and SIGXFSZ itself: a shell shows what was handed down."""
    write_engine(tmp_path, "#!/bin/sh\ngrep SigIgn /proc/$$/status > ignored.txt\n")
    child = start(tmp_path, "x", {"PATH": os.environ["PATH"]})
    child.communicate(timeout=30)
    ignored = int((tmp_path / "ignored.txt").read_text().split()[1], 16)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM):
        assert not ignored >> (number - 1) & 1, number


def test_no_handle_is_handed_down(tmp_path: Path) -> None:
    write_engine(tmp_path)
    start(tmp_path, "exit").communicate(timeout=30)
    assert seen(tmp_path)["fds"] == [0, 1, 2, 3]  # 3 is the listing of the folder itself


@pytest.mark.parametrize(("last", "status"), [("sleep", -signal.SIGTERM), ("own-handler", 5)])
def test_sigterm_reaches_the_engine(tmp_path: Path, last: str, status: int) -> None:
    write_engine(tmp_path)
    with start(tmp_path, last) as child:
        assert child.stdout
        lines = [child.stdout.readline() for _ in range(3 if last == "own-handler" else 2)]
        assert lines[1] == "engine up\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=30) == status


def test_sigint_reaches_the_engine(tmp_path: Path) -> None:
    write_engine(tmp_path)
    with start(tmp_path, "sleep") as child:
        assert child.stdout
        assert child.stdout.readline()
        assert child.stdout.readline() == "engine up\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
        assert child.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in err


def test_the_key_reaches_the_environment_alone(tmp_path: Path) -> None:
    write_engine(tmp_path)
    (tmp_path / "api_key.txt").write_text(KEY + "\n")
    child = start(tmp_path, "exit", {}, key_file=str(tmp_path / "api_key.txt"), key_needed=True)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 37
    found = seen(tmp_path)
    assert found["env"]["VLLM_API_KEY"] == KEY  # type: ignore[index]
    assert KEY not in out + err + json.dumps(found["argv"])


def test_a_needed_key_that_is_gone_starts_nothing(tmp_path: Path) -> None:
    write_engine(tmp_path)
    child = start(tmp_path, "exit", {}, key_file=str(tmp_path / "api_key.txt"), key_needed=True)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 1
    assert "counts on an API key" in err
    assert "Traceback" not in err
    assert not (tmp_path / "seen.json").exists()


def refused(root: Path, argv: list[str] | None = None, env: dict[str, str] | None = None) -> LaunchError:
    with pytest.raises(LaunchError) as caught:
        module.launch(argv or ["venv/bin/vllm", "serve"], env or {}, root, keep_regions=True)
    assert caught.value.message
    assert caught.value.fix
    return caught.value


def test_a_missing_engine(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert str(tmp_path / "venv/bin/vllm") in error.message
    assert "and so is the environment" in error.message
    assert "ENGINE_VENV" in error.fix
    (tmp_path / "venv").mkdir()
    assert refused(tmp_path).message.endswith("is missing")


def test_an_engine_that_cannot_be_run(tmp_path: Path) -> None:
    path = write_engine(tmp_path)
    path.chmod(0o644)
    assert "not a program" in refused(tmp_path).message
    path.unlink()
    path.mkdir()
    assert "not a program" in refused(tmp_path).message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("#!/nowhere/python\n", "interpreter in its first line"), ("\x01\x02", "not a program for this machine")],
)
def test_an_engine_that_does_not_start(tmp_path: Path, text: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_engine(tmp_path, text)
    before = signal.getsignal(signal.SIGPIPE)
    assert wanted in refused(tmp_path).message
    assert signal.getsignal(signal.SIGPIPE) == before


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (["venv/bin/vllm", "a\0b"], {}),
        (None, {"A": "secret\0"}),
        (None, {"": "x"}),
        (None, {"A=B": "secret"}),
        (None, {"A": "secret" * 2_000_000}),
    ],
)
def test_words_that_no_command_can_hold(
    tmp_path: Path, argv: list[str] | None, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_engine(tmp_path)
    assert "secret" not in str(refused(tmp_path, argv, env))


def test_a_refused_start_removes_no_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "remove_stale_regions", lambda keep: pytest.fail("removed"))
    with pytest.raises(LaunchError):
        module.launch(["venv/bin/vllm"], {}, tmp_path)


@pytest.mark.parametrize(
    ("env", "asked", "keep"),
    [
        ({}, None, False),
        ({"VLLM_OFFLOAD_KEEP_SHM": "1"}, None, True),
        ({"VLLM_OFFLOAD_KEEP_SHM": "0"}, None, False),
        ({"VLLM_OFFLOAD_KEEP_SHM": "yes"}, None, False),
        ({}, True, True),
        ({"VLLM_OFFLOAD_KEEP_SHM": "1"}, False, False),
    ],
)
def test_regions_are_removed_first_and_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    env: dict[str, str],
    asked: bool | None,
    keep: bool,
) -> None:
    write_engine(tmp_path)
    kept: list[bool] = []

    def remove(keep: bool) -> list[str]:
        kept.append(keep)
        return ["/dev/shm/x"]

    monkeypatch.setattr(regions, "remove_stale_regions", remove)
    monkeypatch.setattr(module, "_exec", lambda *_: None)
    module.launch(["venv/bin/vllm"], env, tmp_path, keep_regions=asked)
    assert kept == [keep]
    assert capsys.readouterr().out == "[start_qwen] removing stale offload region /dev/shm/x\n"


def test_an_absolute_engine_and_a_linked_one(tmp_path: Path) -> None:
    path = write_engine(tmp_path / "elsewhere")
    (tmp_path / "venv").symlink_to(path.parent.parent)
    assert module.engine_path(str(path), tmp_path) == path
    assert module.engine_path("venv/bin/vllm", tmp_path) == tmp_path / "venv/bin/vllm"
