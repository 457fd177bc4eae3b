"""Streams, locales, signals, terminals, and Pythons without packages: nothing ends in a traceback."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import REPO, SECRET, Cli

WORDS = ("resolve", "--machine", "rtx-3090", "--profile", "dflash2-long")


def shell(cli: Cli, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which $RUN is `python launch.py`."""
    environ = cli.environ({"RUN": f"{sys.executable} {REPO}/launch.py", **env})
    done = subprocess.run(
        ["bash", "-c", script], env=environ, capture_output=True, text=True, errors="replace", timeout=60, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_a_reader_that_goes_away(cli: Cli) -> None:
    done = shell(cli, "$RUN knobs --json | head -1; echo ${PIPESTATUS[0]}")
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("141", "0")
    done = shell(
        cli,
        'yes \'{"machine": "rtx-3090"}\' | head -3000 | $RUN resolve --batch - | head -1 | cut -c1-10; echo ${PIPESTATUS[2]}',
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "141"


@pytest.mark.parametrize(
    "what", ["profiles", "resolve --machine rtx-3090 --format argv", "resolve --machine rtx-3090 --json", "--help"]
)
def test_a_closed_or_full_output(cli: Cli, what: str) -> None:
    done = shell(cli, f"$RUN {what} --quiet >&-")
    assert (done.returncode, done.stderr) == (3, "error: standard output is closed, so there is nowhere to print to\n")
    done = shell(cli, f"$RUN {what} --quiet >/dev/full")
    assert (done.returncode, done.stderr) == (3, "error: cannot write to standard output\n")


def test_closed_errors_and_input(cli: Cli) -> None:
    assert shell(cli, "$RUN resolve --machine rtx-3090 --format argv 2>&-").returncode == 0
    assert shell(cli, "$RUN resolv 2>&-").returncode == 2
    assert shell(cli, "$RUN resolve --machine rtx-3090 CTX=x 2>/dev/full").returncode == 1
    assert shell(cli, "$RUN profiles <&-").returncode == 0
    done = shell(cli, "$RUN resolve --machine rtx-3090 --batch - <&-")
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr
    done = shell(cli, "$RUN resolve --machine rtx-3090 --format argv >&- 2>&- <&-")
    assert done.returncode == 3


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_any_locale(cli: Cli, locale: dict[str, str]) -> None:
    for form in ("argv", "shell", "table", "json", "env"):
        ran = cli.run(*WORDS, "--format", form, "MODEL=/m/gr\u00fc\u4e2d", b"DRAFT=/d/\xff", env=dict(locale))
        assert ran.status == 0, ran.err
    assert cli.run(*WORDS, "TOOLS=\u4e2d", env=dict(locale)).status == 1


def test_bytes_pass_as_they_came(cli: Cli) -> None:
    environ = cli.environ()
    words = [sys.executable, str(REPO / "launch.py"), *WORDS, "--format", "argv", b"MODEL=/m/\xff\xfe"]
    done = subprocess.run(words, env=environ, capture_output=True, check=True, timeout=60)
    assert b"/m/\xff\xfe\n" in done.stdout


def test_an_interrupt_is_one_line(cli: Cli) -> None:
    words = [sys.executable, str(REPO / "launch.py"), "resolve", "--machine", "rtx-3090", "--batch", "-"]
    with subprocess.Popen(
        words, env=cli.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read() == b"interrupted\n"


@pytest.mark.parametrize("delay", [0.005, 0.02, 0.04, 0.06, 0.08])
def test_an_interrupt_at_any_time(cli: Cli, delay: float) -> None:
    words = [sys.executable, str(REPO / "launch.py"), "check"]
    process = subprocess.Popen(words, env=cli.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode != -signal.SIGINT:  # before Python itself is up, the signal ends the process
        assert b"launch.py" not in err or b"Traceback" not in err, err


def terminal(cli: Cli, *words: str, columns: int = 100, **env: str) -> tuple[int, str]:
    """Run on a pseudo-terminal of a width."""
    pid, fd = pty.fork()
    if pid == 0:
        environ = cli.environ({"TERM": "xterm-256color", **env})
        os.execve(sys.executable, [sys.executable, str(REPO / "launch.py"), *words], environ)
    import fcntl
    import struct
    import termios

    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = b""
    while select.select([fd], [], [], 30)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    _, status = os.waitpid(pid, 0)
    text = out.decode(errors="replace").replace("\r\n", "\n")
    assert "Traceback" not in text
    assert SECRET not in text
    return os.waitstatus_to_exitcode(status), text


def test_a_terminal_gets_colour_and_the_table(cli: Cli) -> None:
    status, text = terminal(cli, *WORDS)
    assert status == 0
    assert "\x1b[" in text
    assert "dflash2-long-custom-int8" in text
    assert "command" in text
    assert len(text.splitlines()) <= 40, "more than one screen"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(cli: Cli, env: dict[str, str]) -> None:
    for words in (WORDS, ("resolve", "--machine", "rtx-3090", "CTX=x"), ("arms", "--ctx", "long")):
        _, text = terminal(cli, *words, **env)
        assert "\x1b" not in text
        assert text.strip()


@pytest.mark.parametrize("columns", [1, 20, 40, 79])
def test_narrow_terminals(cli: Cli, columns: int) -> None:
    for words in (WORDS, ("resolve", "--machine", "rtx-3090", "CTX=x"), ("knobs",), ("arms",), ("check", "--origins")):
        status, text = terminal(cli, *words, columns=columns, NO_COLOR="1")
        assert status in (0, 1)
        assert text.strip()


def test_control_characters_never_reach_the_terminal(cli: Cli) -> None:
    ran = cli.run("resolve", "--machine", "rtx-3090", "--format", "table", "MODEL=/m/\x1b[31mred\x07")
    assert ran.status == 0
    assert "\x1b" not in ran.out
    ran = cli.run("resolve", "--machine", "rtx-3090", "CTX=\x1b[31mred", "--profile", "\x1b]0;x\x07")
    assert ran.status == 1
    assert "\x1b" not in ran.all


def bare_python(tmp_path: Path) -> Path:
    """A Python without any package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True, timeout=60)
    return tmp_path / "bare/bin/python"


def test_a_python_without_packages(cli: Cli, tmp_path: Path) -> None:
    python = bare_python(tmp_path)
    again = (REPO / ".venv/bin/python").exists()
    ran = cli.run(*WORDS, "--format", "argv", python=(str(python),))
    assert ran.status == 0, "with a filled cache no package is needed"
    ran = cli.run(*WORDS, "--format", "argv", python=(str(python),), env={"LAUNCH_CACHE_DIR": ""})
    assert ran.status == (0 if again else 3), ran.err
    if not again:
        assert "make setup" in ran.err
        assert ran.err.count("error:") == 1
        assert ran.out == ""
    ran = cli.run(
        *WORDS, "--format", "argv", python=(str(python),), env={"LAUNCH_CACHE_DIR": "", "LAUNCH_STARTED_AGAIN": "1"}
    )
    assert ran.status == 3
    assert ran.err.count("error:") == 1
    assert "make setup" in ran.err


def test_an_unexpected_error_is_one_line(cli: Cli, tmp_path: Path) -> None:
    """Its own text is not shown, for it may hold a secret."""
    script = tmp_path / "broken.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(REPO)!r})\nimport resolver.cli.dispatch as d\n"
        f"def main(words):\n    raise ValueError({SECRET!r})\nd.main = main\n"
        f"from resolver.cli.start import start\nstart({str(REPO)!r})\n"
    )
    ran = cli.run(program=script)
    assert ran.status == 70
    assert ran.err.startswith("error: internal error: ValueError")
    assert len(ran.err.splitlines()) == 2
    done = subprocess.run(
        [sys.executable, str(script)],
        env=cli.environ({"LAUNCH_DEBUG": "1"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("columns", [60, 100])
def test_the_command_on_a_terminal_can_be_copied(cli: Cli, columns: int) -> None:
    import shlex

    _, text = terminal(cli, *WORDS, columns=columns, NO_COLOR="1")
    copied = text.partition("\ncommand\n")[2].replace("\\\n", " ")
    shell = cli.run(*WORDS, "--format", "shell").out
    assert shlex.split(copied) == shlex.split(shell)
