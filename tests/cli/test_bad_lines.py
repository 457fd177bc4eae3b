"""Command lines that cannot be used: each ends with the right status and one clear error that names the thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import SECRET, Cli

M = ("--machine", "rtx-3090")
R = ("resolve", *M)

# words, environment, exit status, what must be named
BAD: list[tuple[tuple[str, ...], dict[str, str], int, str]] = [
    (("resolv",), {}, 2, "did you mean resolve?"),
    (("dflash2-long",), {}, 2, "--profile dflash2-long"),
    (("what",), {}, 2, "there is no command what"),
    (("--machin", "rtx-3090"), {}, 2, "did you mean --machine?"),
    (("--max-num-seqs", "4"), {}, 2, "put flags of the engine after `--`"),
    (("--api-key", SECRET), {}, 2, "--api-key"),
    ((f"--api-key={SECRET}",), {}, 2, "--api-key"),
    (("-x",), {}, 2, "there is no option -x"),
    (("--profile",), {}, 2, "--profile needs a value"),
    (("--profile", "--quiet"), {}, 2, "--profile needs a value"),
    (("--profile=",), {}, 2, "--profile needs a value"),
    (("--machine", "rtx-3090", "--machine", "h200"), {}, 2, "--machine is given twice"),
    (("--quiet=1",), {}, 2, "--quiet takes no value"),
    (("--quiet", "--verbose"), {}, 2, "exclude each other"),
    (("resolve", "extra"), {}, 2, "one word too many"),
    (("resolve", "VLLM_API_KEY", SECRET), {}, 2, "VLLM_API_KEY"),
    ((SECRET,), {}, 2, "there is no command"),
    (("=x",), {}, 2, "KNOB=value"),
    (("a b=x",), {}, 2, "KNOB=value"),
    (("profiles", "CTX=long"), {}, 2, "takes no knobs: CTX"),
    (("profiles", "--", "--seed", "7"), {}, 2, "takes no engine flags"),
    (("profiles", "--machine", "h200"), {}, 2, "has no option --machine"),
    (("--format", "json"), {}, 2, "--format belongs to `launch.py resolve`"),
    (("resolve", "--format", "yaml"), {}, 2, "--format is none of"),
    (("resolve", "--format", "argv", "--json"), {}, 2, "exclude each other"),
    (("resolve", "--batch", "-", "CTX=long"), {}, 2, "--batch takes knobs"),
    (("resolve", "--batch", "-", "--format", "shell"), {}, 2, "--batch prints JSON only"),
    (("resolve", "--batch", "/nonexistent/requests.jsonl"), {}, 2, "/nonexistent/requests.jsonl cannot be read"),
    (("resolve", "--machine", "rtx-3091"), {}, 2, "did you mean rtx-3090"),
    (("resolve", "--machine", "/nonexistent/m.yaml"), {}, 2, "/nonexistent/m.yaml is no file"),
    (("resolve", "--machine", "nowhere.json"), {}, 2, "nowhere.json is no file"),
    (("resolve", "--engine", "0.31"), {}, 2, "engine '0.31' is not known"),
    ((*R, "--engine", "0.31.0+hyperqwen"), {}, 2, "hyperqwen-0.31"),
    ((*R, "--engine", "0.33.0+hyperqwen-0.31"), {}, 2, "hyperqwen-0.31"),
    ((*R, "--env-file", "/nonexistent/env"), {}, 2, "--env-file /nonexistent/env cannot be read"),
    ((*R, "--profile", "dflash-long"), {}, 1, "did you mean dflash2-long?"),
    ((*R, "MAX_SEQ=4"), {}, 1, "did you mean MAX_SEQS?"),
    ((*R, "CTX=lang"), {}, 1, "CTX"),
    ((*R, "MAX_SEQS=-1"), {}, 1, "MAX_SEQS"),
    ((*R, "MAX_SEQS=four"), {}, 1, "MAX_SEQS"),
    ((*R, "GPU_UTIL=1.5"), {}, 1, "GPU_UTIL"),
    ((*R, "TOOLS=maybe"), {}, 1, "TOOLS"),
    ((*R, f"VLLM_API_KEY={SECRET}"), {}, 1, "VLLM_API_KEY on the command line"),
    ((*R, "--", "--no-such-flag"), {}, 1, "--no-such-flag"),
    ((*R, "--", "--max-num-seqs", "many"), {}, 1, "max-num-seqs"),
    ((*R, "--", "--model", "x"), {}, 1, "MODEL"),
    ((*R, "--", f"--no-such-key={SECRET}"), {}, 1, "--no-such-key"),
    (R, {"EXTRA_ARGS": f"--api-key {SECRET} --no-such-flag"}, 1, "--no-such-flag"),
    (R, {"PORT": "http"}, 1, "PORT"),
    (R, {"SPEC": "eagle", "VLLM_API_KEY": SECRET}, 1, "SPEC"),
    (("arms", "--ctx", "short"), {}, 2, "--ctx is none of"),
    (("arms", "--backend", "FLASH"), {}, 2, "FLASH"),
    (("arms", "--capability", "7.5"), {}, 2, "7.5"),
    (("arms", "--measured", "--unmeasured"), {}, 2, "exclude each other"),
    (("knobs", "CTZ"), {}, 2, "did you mean CTX?"),
    (("knobs", "CTX", "SPEC"), {}, 2, "one word too many"),
    (("machines", "rtx"), {}, 2, "rtx"),
    ((*M, "ENGINE_VENV=/nonexistent/venv"), {}, 1, "/nonexistent/venv"),
]


@pytest.mark.parametrize(("words", "env", "status", "named"), BAD, ids=lambda v: None)
def test_a_bad_line_is_refused_clearly(
    cli: Cli, words: tuple[str, ...], env: dict[str, str], status: int, named: str
) -> None:
    ran = cli.run(*words, env=env)
    assert ran.status == status, ran.all
    assert ran.out == ""
    said = [line for line in ran.err.splitlines() if line.startswith(("error:", "refused:"))]
    assert len(said) == 1, ran.err
    assert named in " ".join(ran.err.split()), ran.err
    if status in (2, 3):
        assert "  fix: " in ran.err
    else:
        assert "fix" in ran.err


def test_there_are_forty() -> None:
    assert len(BAD) >= 40


def test_a_broken_machine_file_is_shown_with_its_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("machine: {title: x, source: y}\nfacts:\n  wsl: perhaps\n")
    ran = cli.run("resolve", "--machine", str(file))
    assert ran.status == 3
    assert f"{file}:3:" in ran.err
    assert ran.err.count("error:") == 1


def test_words_that_are_no_text(cli: Cli) -> None:
    ran = cli.run(*R, b"MODEL=/m/\xff\xfe", "--format", "argv")
    assert ran.status == 0
    ran = cli.run(*R, b"TOOL_PARSER=\xff")
    assert ran.status == 1
    assert "TOOL_PARSER" in ran.err
    assert cli.run(b"\xff\xfe").status == 2
    assert cli.run(b"--\xff\xfe").status == 2
