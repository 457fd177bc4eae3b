"""Completion: the words that fit, and the scripts in the shells that are installed here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.cli import dispatch
from resolver.cli.complete import candidates
from resolver.cli.completion import SCRIPTS, script
from resolver.cli.dispatch import COMMANDS
from resolver.cli.options import OPTIONS
from resolver.compile import product_root
from resolver.diagnostics import UsageError
from tests.explain.requests import resolver


def words(*typed: str) -> list[str]:
    return [word for word, _ in candidates(list(typed))]


def test_commands_options_and_knobs() -> None:
    assert set(words("")) >= {c for c in COMMANDS if c != "launch"}
    assert set(words("")) >= {
        f"{k.env}=" for k in resolver().rules.knobs.values() if k.type not in ("secret", "ignored")
    }
    assert words("re") == ["resolve"]
    assert words("resolve", "--for") == ["--format"]
    assert "--batch" not in words("--b")
    assert words("--profile", "dflash2-l") == ["dflash2-long"]
    assert words("--profile=mtp-h") == ["--profile=mtp-huge"]
    assert words("--profile", "mtp-fast", "CT") == ["CTX="]
    assert words("CTX=l") == ["CTX=long"]
    assert set(words("LOOKUP=")) == {"LOOKUP=0", "LOOKUP=1"}
    assert words("resolve", "--format", "sys") == ["systemd"]
    assert words("resolve", "--machine", "rtx-30") == ["rtx-3090", "rtx-3090-stock", "rtx-3090-wsl2"]
    assert words("--", "CT") == []
    assert words("knobs", "CUDA") == ["CUDAGRAPH_MODE", "CUDA_HOME"] or set(words("knobs", "CUDA")) == {
        "CUDA_HOME",
        "CUDAGRAPH_MODE",
    }
    assert words("completion", "z") == ["zsh"]


def test_everything_has_help() -> None:
    for typed in ([""], ["--"], ["resolve", "--"], ["--profile", ""], ["CTX="], ["explain", ""]):
        for word, help in candidates(typed):
            assert help.strip(), word


def test_every_option_that_takes_a_known_thing_offers_it() -> None:
    free = {"--env-file", "--batch", "--want", "--metric", "--hardware", "--context", "--knob", "--streams", "--ctx", "--spec", "--backend", "--capability", "--never", "--always", "--implies", "--disjoint", "--equivalent"}  # fmt: skip
    for option in OPTIONS.values():
        if option.value is not None and option.name not in free and not option.allowed:
            found = words(option.name, "")
            assert found or option.name not in (
                "--profile",
                "--machine",
                "--engine",
                "--arm",
                "--apply",
                "--use",
                "--prefer",
            )
    assert words("--profile", "")
    assert words("resolve", "--engine", "0.3")


def test_what_the_scripts_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.main(["complete", "--", "resolve", "--profile", "off-h"]) == 0
    assert capsys.readouterr().out == "off-huge\t" + resolver().rules.profiles["off-huge"].help + "\n"
    assert dispatch.main(["complete", "--", "--no-such", "x"]) == 0
    with pytest.raises(UsageError):
        dispatch.main(["completion", "tcsh"])
    for shell in SCRIPTS:
        assert dispatch.main(["completion", shell]) == 0
        assert str(product_root() / "launch.py") in capsys.readouterr().out


def bash(line: str) -> list[str]:
    """What bash offers for the line, by its own completion function."""
    show = 'COMP_LINE="$1"; COMP_POINT=${#1}; _launch_py; printf "%s\\n" "${COMPREPLY[@]}"'
    command = ["bash", "--norc", "-c", f"{script('bash')}\n{show}", "bash", line]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert not done.stderr
    return [reply for reply in done.stdout.split("\n") if reply]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed here")
def test_bash() -> None:
    assert bash("launch.py --profile dflash2-l") == ["dflash2-long "]
    assert bash("launch.py CTX=l") == ["long "], "bash itself keeps what stands before the ="
    assert bash("launch.py resolve --profile mtp-fast CT") == ["CTX="]
    assert "diff " in bash("launch.py d")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_the_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    file = tmp_path / "script"
    file.write_text(script(shell))
    done = subprocess.run([program, "-n", str(file)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_this_python_is_asked() -> None:
    assert sys.executable in script("bash")
