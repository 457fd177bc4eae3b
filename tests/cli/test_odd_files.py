"""Files that are none, checkouts that are not whole, and names that would repaint the terminal: one clear error each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import REPO, Cli

ON = ("--machine", "rtx-3090", "--profile", "mtp-fast")
ESCAPE = "\x1b[2J"


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A checkout of one's own, to break."""
    root = tmp_path / "product"
    plain = shutil.ignore_patterns("__pycache__")
    for name in ("resolver", "rules"):
        shutil.copytree(REPO / name, root / name, ignore=plain)
    for name in ("launch.py", "profiles.yaml"):
        shutil.copy(REPO / name, root / name)
    return root


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/tty"])
@pytest.mark.parametrize(
    "words",
    [
        ("resolve", *ON, "--env-file"),
        ("resolve", "--profile", "mtp-fast", "--machine"),
        ("resolve", "--batch"),
        ("fit", *ON, "--from-log"),
        ("diff", "mtp-fast", "--env-file"),
    ],
    ids=["env-file", "machine", "batch", "from-log", "diff"],
)
def test_a_device_is_no_file(cli: Cli, words: tuple[str, ...], device: str) -> None:
    ran = cli.run(*words, device, timeout=20)
    assert ran.status == 2, ran.err
    assert "fix:" in ran.err


def test_a_line_without_an_end_is_given_up(cli: Cli) -> None:
    from io import BytesIO

    from resolver.cli import batch
    from resolver.diagnostics import UsageError

    class Endless(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            return b"\0" * (size or 1)

    lines = batch.whole_lines(Endless())
    assert len(next(lines)) == batch.LONGEST + 1
    with pytest.raises(UsageError, match="line 1 of the requests has no end"):
        next(lines)


def test_a_long_line_is_one_bad_line_and_the_rest_is_answered(cli: Cli) -> None:
    from io import BytesIO

    from resolver.cli import batch

    text = b"a\n" + b"x" * (3 * batch.LONGEST) + b"\nb\n" + b"y" * (batch.LONGEST + 1) + b"\nc"
    kept = list(batch.whole_lines(BytesIO(text)))
    assert [len(line) > batch.LONGEST for line in kept] == [False, True, False, True, False]
    assert (kept[0], kept[2], kept[4]) == (b"a\n", b"b\n", b"c")


@pytest.mark.parametrize(
    "words",
    [
        (f"--{ESCAPE}",),
        ("resolve", "--machine", f"/x/{ESCAPE}.yaml"),
        ("resolve", *ON, "--env-file", f"/x/{ESCAPE}"),
        ("resolve", "--batch", f"/x/{ESCAPE}"),
        ("explain", "--arm", ESCAPE, *ON),
        ("explain", "--want", f"{ESCAPE}=1", *ON),
        ("arms", "--backend", ESCAPE),
        ("completion", ESCAPE),
        ("diff", ESCAPE, "x\ny"),
        ("resolve", *ON, f"MAX_LEN={ESCAPE}"),
        ("resolve", *ON, "--", f"--seed={ESCAPE}"),
    ],
    ids=lambda words: words[0] if len(words) == 1 else "-".join(words[:2]).replace(ESCAPE, "ESC"),
)
def test_no_error_repaints_the_terminal(cli: Cli, words: tuple[str, ...]) -> None:
    ran = cli.run(*words)
    assert ran.status in (1, 2)
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("rules/schema/profiles.json", kind) for kind in ("missing", "broken", "device", "null", "deep", "binary")),
        *(("rules/schema/overlay.json", kind) for kind in ("missing", "broken")),
        *(("rules/schema/machine.json", kind) for kind in ("missing", "pipe")),
        *(("rules/engines/vllm-0.31.0.json", kind) for kind in ("missing", "device", "deep")),
        *(("profiles.yaml", kind) for kind in ("missing", "device", "pipe", "null", "binary")),
    ],
)
def test_a_product_file_that_cannot_be_used_is_named(cli: Cli, product: Path, name: str, kind: str) -> None:
    path = product / name
    path.unlink()
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "missing":
        path.write_bytes({"broken": b'{"a": [', "null": b"null", "deep": b"[" * 100_000, "binary": b"\xff\xfe\0"}[kind])
    ran = cli.run("resolve", *ON, program=product / "launch.py", env={"LAUNCH_CACHE_DIR": ""}, timeout=30)
    assert ran.status == (2 if kind == "missing" and "engines" in name else 3), ran.err
    assert path.name in ran.err or "0.31.0" in ran.err
    assert "fix:" in ran.err
    errors = [line for line in ran.err.splitlines() if line.startswith("error:")]
    assert len(errors) == len(set(errors)), "one error is said more than once"


@pytest.mark.parametrize("name", ["resolver", "resolver/compile", "resolver/cli/resolve.py", "rules", "rules/engines"])
def test_a_checkout_that_is_not_whole_says_what_is_missing(cli: Cli, product: Path, name: str) -> None:
    (product / name).rename(product / "elsewhere")
    ran = cli.run("resolve", *ON, program=product / "launch.py", env={"LAUNCH_CACHE_DIR": ""})
    assert ran.status in (1, 3), ran.err
    assert "fix:" in ran.err
    assert "internal error" not in ran.err
    assert name.rsplit("/", maxsplit=1)[-1].removesuffix(".py") in ran.err


@pytest.mark.parametrize("limit", ["ulimit -n 4", "ulimit -v 20000"])
def test_too_little_of_everything_is_said(cli: Cli, limit: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    script = f'{limit}; "{sys.executable}" "{REPO}/launch.py" resolve {" ".join(ON)}'
    environ = cli.environ({"LAUNCH_CACHE_DIR": ""})
    ran = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, text=True, check=False)
    if "loading shared libraries" in ran.stderr or "Fatal Python" in ran.stderr:
        pytest.skip("this Python cannot even start")
    assert ran.returncode not in (0, 70), ran.stderr
    assert "Traceback" not in ran.stderr
    assert "fix:" in ran.stderr
