"""Every format says the same launch: argv, shell, env, json and the table are views of one resolution."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import REPO, SECRET, Cli

REQUESTS: list[tuple[str, ...]] = [
    ("--profile", "dflash2-long"),
    ("--profile", "mtp-huge", "MODEL=/m/it's two $HOME"),
    ("--profile", "off-fast", "MAX_LEN=64k", "--", "--seed", "7", "--override-generation-config", '{"a": "b c"}'),
]


def _words(cli: Cli, *words: str, env: dict[str, str] | None = None) -> list[str]:
    ran = cli.run("resolve", "--machine", "rtx-3090", "--format", "argv", *words, env=env)
    assert ran.status == 0, ran.err
    return ran.out.splitlines()


@pytest.mark.parametrize("request_words", REQUESTS)
def test_shell_and_json_and_env_agree_with_argv(cli: Cli, request_words: tuple[str, ...]) -> None:
    argv = _words(cli, *request_words)
    as_json = cli.run("resolve", "--machine", "rtx-3090", "--json", *request_words)
    assert as_json.err == ""
    data = json.loads(as_json.out)
    assert (data["schema"], data["ok"], data["argv"]) == (1, True, argv)
    shell = shlex.split(cli.run("resolve", "--machine", "rtx-3090", "--format", "shell", *request_words).out)
    assert shell[:4] == ["cd", str(REPO), "&&", "env"]
    rest = shell[4:]
    unset = []
    while rest[0] == "-u":
        unset.append(rest[1])
        rest = rest[2:]
    count = next(i for i, word in enumerate(rest) if word.endswith("bin/vllm"))
    variables = dict(word.split("=", 1) for word in rest[:count])
    assert variables.pop("PATH") == f"{data['env']['path_front']}:$PATH"
    assert (variables, unset, rest[count:]) == (data["env"]["set"], data["env"]["unset"], argv)
    env = cli.run("resolve", "--machine", "rtx-3090", "--format", "env", *request_words).out
    read = [shlex.split(line, comments=True) for line in env.splitlines()]
    assert dict(words[0].split("=", 1) for words in read if words) == data["env"]["set"]


def test_a_shell_runs_the_shell_line(cli: Cli, tmp_path: Path) -> None:
    """The line is executed by a real shell: argv, a removed variable, a set one and PATH arrive."""
    engine = tmp_path / "ve nv/bin/vllm"
    engine.parent.mkdir(parents=True)
    engine.write_text(
        '#!/bin/sh\nfor w in "$@"; do printf "%s\\n" "$w"; done\nprintf "%s|%s|%s\\n" "${VLLM_PREFIX_CACHE_RETENTION_INTERVAL-gone}" "$VLLM_USE_FLASHINFER_SAMPLER" "$PATH"\n'
    )
    engine.chmod(0o755)
    words = ("--profile", "dflash2-long", f"ENGINE_VENV={tmp_path}/ve nv", "DRAFT=/m/two words")
    line = cli.run(
        "resolve",
        "--machine",
        "rtx-3090",
        "--format",
        "shell",
        *words,
        env={"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "0"},
    )
    environ = cli.environ({"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "0"})
    done = subprocess.run(["sh", "-c", line.out], env=environ, capture_output=True, text=True, check=True, timeout=30)
    *argv, last = done.stdout.splitlines()
    assert argv == _words(cli, *words, env={"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "0"})[1:]
    assert last == f"gone|0|{engine.parent}:{environ['PATH']}"


def test_an_env_file_made_by_the_env_format_is_read_again(cli: Cli, tmp_path: Path) -> None:
    words = ("--machine", "rtx-3090", "--profile", "dflash2-huge", "INT8_ACT=int8", 'INT8_LAYERS=it\'s "$x" \\d')
    made = cli.run("resolve", *words, "--format", "env")
    assert made.status == 0, made.err
    file = tmp_path / "env"
    file.write_text(made.out)
    from resolver.cli.env_file import read_env_file

    found = read_env_file(str(file)).variables
    data = json.loads(cli.run("resolve", *words, "--json").out)
    assert {name: text for name, (text, _) in found.items()} == data["env"]["set"]


def test_a_refusal_has_no_argv_and_all_reasons(cli: Cli) -> None:
    ran = cli.run(
        "resolve", "--machine", "rtx-4090", "--profile", "dflash2-long", "PTH_FA=1", "FA2_FP8KV=1", "PORT=x", "--json"
    )
    data = json.loads(ran.out)
    assert (ran.status, data["ok"], data["argv"]) == (1, False, None)
    rules = {d["rule"] for d in data["diagnostics"] if d["severity"] == "refuse"}
    assert {"fa2-beside-pth", "bad-port", "dflash2-long-custom-int8-without-what-it-needs"} <= rules
    assert all(d.get("fix") for d in data["diagnostics"] if d["severity"] == "refuse")


@pytest.mark.parametrize("form", ["table", "shell", "argv", "json", "env"])
def test_a_key_among_the_flags_and_in_the_environment_is_never_shown(cli: Cli, form: str) -> None:
    ran = cli.run(
        *("resolve", "--machine", "rtx-3090", "--format", form, "--verbose", "--", "--api-key", SECRET),
        env={"VLLM_API_KEY": SECRET, "EXTRA_ARGS": f"--hf-token {SECRET}"},
    )
    assert ran.status == 0, ran.err
    assert form == "env" or "***" in ran.out
    assert form != "json" or json.loads(ran.out)["api_key"] == "environment"


def test_quiet_and_verbose(cli: Cli) -> None:
    words = ("resolve", "--machine", "rtx-3090", "--profile", "mtp-fast", "--format", "argv")
    assert cli.run(*words, "--quiet").err == ""
    normal, verbose = cli.run(*words).err, cli.run(*words, "--verbose").err
    assert "arm" in normal
    assert "listens on 127.0.0.1" in normal
    assert len(verbose) > 2 * len(normal)
    assert "settings" in verbose


def test_what_is_said_of_the_effective_configuration(cli: Cli) -> None:
    """The facts of the five lines of rule R30."""
    words = ("resolve", "--machine", "rtx-3090", "CTX=long", "SPEC=mtp", "PORT=9001", "MAX_LEN=4096", "MAX_SEQS=3")
    said = cli.run(*words, "--format", "table", env={"VLLM_API_KEY": SECRET}).out
    for part in (
        "CTX=long SPEC=mtp",
        "port 9001",
        "4096 tokens",
        "3 requests",
        f"set ({len(SECRET)} characters)",
        "api_key.txt absent",
    ):
        assert part in said


def test_lists_have_json_and_tables(cli: Cli) -> None:
    for command, key in (
        ("profiles", "profiles"),
        ("knobs", "knobs"),
        ("arms", "cells"),
        ("machines", "machines"),
        ("engines", "engines"),
    ):
        data = json.loads(cli.run(command, "--json").out)
        assert data["schema"] == 1
        table = cli.run(command)
        assert table.status == 0
        assert len(data[key]) > 4
        assert len(table.out.splitlines()) > len(data[key])


def test_arms_filters(cli: Cli) -> None:
    cells = json.loads(cli.run("arms", "--ctx", "long", "--spec", "dflash2", "--capability", "8.6", "--json").out)[
        "cells"
    ]
    assert {c["arm"] for c in cells} >= {
        "dflash2-long-custom-int8",
        "dflash2-long-flash-fp8",
        "dflash2-long-triton-int8",
    }
    assert {(c["ctx"], c["spec"], c["capability"]) for c in cells} == {("long", "dflash2", "8.6")}
    measured = json.loads(cli.run("arms", "--measured", "--json").out)["cells"]
    unmeasured = json.loads(cli.run("arms", "--unmeasured", "--json").out)["cells"]
    assert all(c["measured"] for c in measured)
    assert not any(c["measured"] for c in unmeasured)
    both = json.loads(cli.run("arms", "--json").out)["cells"]
    assert len(both) == len(measured) + len(unmeasured)
    assert len(json.loads(cli.run("arms", "--all", "--json").out)["cells"]) > len(both)
    assert "not measured" in cli.run("arms", "--unmeasured").out


@pytest.mark.parametrize("request_words", REQUESTS)
def test_the_command_of_the_table_can_be_copied(cli: Cli, request_words: tuple[str, ...]) -> None:
    table = cli.run("resolve", "--machine", "rtx-3090", "--format", "table", *request_words).out
    copied = table.partition("\ncommand\n")[2].replace("\\\n", " ")
    shell = cli.run("resolve", "--machine", "rtx-3090", "--format", "shell", *request_words).out
    assert shlex.split(copied) == shlex.split(shell)


def test_a_quiet_table_is_the_command(cli: Cli) -> None:
    """What was asked for is still printed; notes and the summary are not."""
    words = ("resolve", "--machine", "rtx-3090", "--profile", "mtp-fast", "--format", "table")
    quiet, full = cli.run(*words, "--quiet").out, cli.run(*words).out
    assert full.endswith(quiet)
    assert "serve" in quiet
    assert "note" not in quiet


def test_what_cannot_fit_is_said_where_people_read(cli: Cli) -> None:
    full = ("resolve", "--machine", "rtx-3090", "--profile", "mtp-fast", "MAX_LEN=262144")
    assert "does not fit" in cli.run(*full, "--format", "shell").err
    assert "does not fit" in cli.run(*full, "--format", "table").out
    assert any(d["rule"] == "does-not-fit" for d in json.loads(cli.run(*full, "--json").out)["diagnostics"])
    assert "does not fit" not in cli.run(*full, "--format", "argv").err
