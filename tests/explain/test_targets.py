"""Files for other programs: each is read by its real consumer where one runs here, and holds no secret."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from resolver.diagnostics import UsageError
from resolver.masking import secret_flag
from resolver.passthrough import read_words
from resolver.resolution import Resolution
from resolver.views.targets import TARGETS, systemd, vllm_config
from resolver.views.targets_compose import compose, llama_swap
from resolver.views.targets_parts import parts
from tests.engine import real_parser
from tests.explain.requests import ask, resolutions

DATA = Path(__file__).parent / "data"
SYSTEMD = shutil.which("systemd-analyze")


def launches(count: int, seed: int) -> Iterator[Resolution]:
    """Accepted random launches."""
    found = 0
    for resolution in resolutions(20000, seed):
        if not resolution.refused:
            found += 1
            yield resolution
        if found == count:
            return


def samples() -> list[Resolution]:
    by_hand = [
        ask("dflash2-long"),
        ask("mtp-fast", "VISION=1", "TOOLS=0", "REQ_METRICS=1", args=("-cc.mode", "3", "--seed=7", "-tp", "1")),
        ask("mtp-fast", "INT8_LAYERS=a|b$c %d \"q\" 'x' \\z", "INT8_ACT=int8", "MAX_LEN=64k"),
        ask(
            "off-fast",
            "MODEL=/models/with space/$HOME",
            args=("--hf-overrides", '{"a": "$b"}', "--port", "9", "--port", "10"),
        ),
        ask("dflash2-huge", "PREFIX_RETENTION=", "SSE_KEEP_ALIVE=", VLLM_PREFIX_CACHE_RETENTION_INTERVAL="13056"),
        ask("mtp-fast", HOST="0.0.0.0", VLLM_API_KEY="sk-one"),
    ]
    assert not any(r.refused for r in by_hand), [
        d.message for r in by_hand for d in r.diagnostics if d.severity == "refuse"
    ]
    return by_hand


def flattened(config: dict[str, Any], switches: frozenset[str]) -> list[str]:
    """What vLLM makes of a --config file, as its own code does."""
    out: list[str] = []
    for key, value in config.items():
        if isinstance(value, bool):
            if value:
                out.append(f"--{key}")
            elif f"--no-{key}" in switches:
                out.append(f"--no-{key}")
        elif isinstance(value, list):
            out += [f"--{key}", *map(str, value)] if value else []
        elif isinstance(value, dict):
            out += [f"--{key}", json.dumps(value)]
        else:
            out += [f"--{key}", str(value)]
    return out


def without_keys(resolution: Resolution) -> tuple[str, ...]:
    return parts(resolution).words[2:]


def test_vllm_config_says_what_the_words_say() -> None:
    checked = 0
    for resolution in [*samples(), *launches(60, seed=61)]:
        try:
            config = yaml.safe_load(vllm_config(resolution))
        except UsageError:
            continue
        model = config.pop("model")
        assert model == resolution.argv[2]
        words = flattened(config, frozenset(resolution.engine.spellings))
        ours, theirs = (
            read_words(resolution.engine, without_keys(resolution)),
            read_words(resolution.engine, tuple(words)),
        )
        assert theirs.problem is None
        assert theirs.last == ours.last
        checked += 1
    assert checked > 50


def test_vllm_config_is_taken_by_the_real_parser(tmp_path: Path) -> None:
    if not real_parser.available("0.31.0"):
        pytest.skip(f"{real_parser.VARIABLE} names no environment with vLLM 0.31.0 (python -m tools.engine_data env)")
    argvs, choices = [], {"kv_cache_dtype": ["kvarn_k4v2_g128"]}
    for i, resolution in enumerate([*samples(), *(r for r in launches(40, seed=62) if r.engine.version == "0.31.0")]):
        file = tmp_path / f"{i}.yaml"
        try:
            file.write_text(vllm_config(resolution))
        except UsageError:
            continue
        argvs += [["--config", str(file)], list(parts(resolution).words[1:])]
    answers = [good for good, _ in real_parser.parse_many("0.31.0", argvs, choices)]
    assert answers[::2] == answers[1::2], "the file and the words behind it are not taken alike"
    assert sum(answers[::2]) > 30


@pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not installed here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    assert SYSTEMD is not None
    program = tmp_path / "venv" / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for i, resolution in enumerate([*samples(), with_key_file()]):
        unit = tmp_path / f"engine{i}.service"
        name = str(program)
        unit.write_text(systemd(resolution).replace(str(resolution.resolver.root / "venv/bin/vllm"), name))
        done = subprocess.run([SYSTEMD, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if unit.name in line]
        assert not said
        assert done.returncode == 0, done.stderr
    broken = tmp_path / "broken.service"
    broken.write_text(systemd(ask("mtp-fast")).replace("[Service]", "[Service]\nNonsense=1\nExecStartt=x"))
    done = subprocess.run([SYSTEMD, "verify", "--man=no", str(broken)], capture_output=True, text=True, check=False)
    assert "Nonsense" in done.stderr, "systemd-analyze would not have noticed"


def unit_words(line: str) -> list[str]:
    """The words of ExecStart= as systemd reads them: C escapes in double quotes, %% and $$."""
    out, at = [], 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        assert line[at] == '"' or line.startswith("/bin/sh -c ", at)
        if line[at] != '"':
            word, _, _ = line[at:].partition(" ")
            out.append(word)
            at += len(word)
            if line.startswith(" -c", at):
                out.append("-c")
                at += 3
            continue
        at += 1
        word = ""
        while line[at] != '"':
            if line[at] == "\\":
                at += 1
            word += line[at]
            at += 1
        at += 1
        out.append(word.replace("%%", "%").replace("$$", "$"))
    return out


def test_systemd_starts_the_same_words() -> None:
    for resolution in [*samples(), *launches(30, seed=63)]:
        try:
            unit = systemd(resolution)
        except UsageError:
            continue
        (line,) = (x.partition("=")[2] for x in unit.splitlines() if x.startswith("ExecStart="))
        words = unit_words(line)
        if words[0] == "/bin/sh":
            words = words[3:]
        assert words == [os.path.join(resolution.resolver.root, resolution.argv[0]), *parts(resolution).words]
        said = [unit_words(x.partition("=")[2])[0] for x in unit.splitlines() if x.startswith("Environment=")]
        assert dict(x.split("=", 1) for x in said).items() >= dict(resolution.rendered.set_variables).items()


def test_the_key_file_is_read_at_the_start(tmp_path: Path) -> None:
    resolution = with_key_file()
    unit = systemd(resolution)
    (line,) = (x.partition("=")[2] for x in unit.splitlines() if x.startswith("ExecStart="))
    words = unit_words(line)
    (tmp_path / "api_key.txt").write_text("not a real key\n")
    show = [*words[:3], "/bin/sh", "-c", 'printf %s "$VLLM_API_KEY"']
    done = subprocess.run(show, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "not a real key"


def with_key_file() -> Resolution:
    from resolver.machines import with_facts

    asked = ask("mtp-fast")
    machine = with_facts(asked.resolver.root, asked.machine, {"api_key_file": True})
    return asked.resolver.resolve(asked.request, machine)


def test_compose_follows_the_schema() -> None:
    schema = json.loads((DATA / "compose_spec.json").read_text())
    validator = jsonschema.Draft7Validator(schema)
    for resolution in [*samples(), with_key_file(), *launches(30, seed=64)]:
        try:
            file = yaml.safe_load(compose(resolution))
        except UsageError:
            continue
        assert not list(validator.iter_errors(file)), compose(resolution)
        service = file["services"]["vllm"]
        words = [word.replace("$$", "$") for word in service["command"]]
        mine = list(parts(resolution).words)
        mine[mine.index("--host") + 1] = "0.0.0.0"
        assert words == mine
    assert list(validator.iter_errors({"services": {"vllm": {"comand": []}}})), "the schema would notice nothing"


def test_compose_publishes_where_the_server_was_to_listen() -> None:
    assert yaml.safe_load(compose(ask("mtp-fast")))["services"]["vllm"]["ports"] == ["127.0.0.1:18020:18020"]
    open_to_all = ask("mtp-fast", HOST="0.0.0.0", VLLM_API_KEY="sk-one", PORT="9000")
    assert yaml.safe_load(compose(open_to_all))["services"]["vllm"]["ports"] == ["9000:9000"]


def test_llama_swap() -> None:
    """llama-swap itself does not run here: the keys are those of its documentation, the command is split as a shell splits it."""
    for resolution in [*samples(), *launches(20, seed=65)]:
        try:
            file = yaml.safe_load(llama_swap(resolution))
        except UsageError:
            continue
        (model,) = file["models"].values()
        assert set(model) == {"cmd", "env", "proxy", "checkEndpoint"}
        words = shlex.split(model["cmd"])
        mine = [os.path.join(resolution.resolver.root, resolution.argv[0]), *parts(resolution).words]
        assert len(words) == len(mine)
        assert [a for a, b in zip(words, mine, strict=True) if a != b and a not in ("${PORT}", "127.0.0.1")] == []
        assert "${PORT}" in model["cmd"]


def test_no_secret_in_any_file() -> None:
    resolution = ask("mtp-fast", args=("--api-key", "sk-two", "--hf-token=sk-four"), VLLM_API_KEY="sk-one", EXTRA_ARGS="--api-key sk-three")  # fmt: skip
    assert not resolution.refused
    for make in TARGETS.values():
        text = make(resolution)
        assert "sk-" not in text
        assert "VLLM_API_KEY" in text
    assert not any(secret_flag(word) for word in parts(resolution).words if word.startswith("-"))


@pytest.mark.parametrize(
    "words",
    [
        ("--hf-overrides", '{"token":"sk-two"}'),
        ("--hf-overrides={'token': 'sk-two'}",),
        ("--hf-overrides", '{"a": {"api_key": ["sk-two"]}}'),
        ("--otlp-traces-endpoint", "http://someone:sk-two@host/"),
        ("--kv-transfer-config.kv_connector_extra_config.token", "sk-two"),
        ("--middleware", "sk-secret123"),
        ("--hf-token", "sk-two"),
    ],
    ids=lambda words: words[0],
)
def test_a_flag_with_a_secret_inside_is_left_out_and_named(words: tuple[str, ...]) -> None:
    """Whatever the other formats hide: half a value would start another server, so the flag goes as a whole."""
    resolution = ask("mtp-fast", args=(*words, "--seed", "7"))
    flag = words[0].partition("=")[0]
    for make in TARGETS.values():
        text = make(resolution)
        assert "sk-" not in text
        assert "***" not in text
        assert f"# {flag} is left out, for it holds a key: add it where nobody else can read it\n" in text
    kept = parts(resolution).words
    assert flag not in {word.partition("=")[0] for word in kept}
    assert ("--seed", "7") in pairwise(kept)


def test_a_password_in_the_models_address_is_in_no_file() -> None:
    resolution = ask("mtp-fast", "MODEL=https://someone:sk-two@host/model")
    for make in TARGETS.values():
        with pytest.raises(UsageError) as raised:
            make(resolution)
        assert "sk-" not in str(raised.value)


def test_what_no_file_can_hold() -> None:
    resolution = ask("mtp-fast", "MODEL=/m/a\nb")
    for make in TARGETS.values():
        with pytest.raises(UsageError):
            make(resolution)
