"""A launch through a stand-in for vLLM: words, environment, folder, exit status and signals are the engine's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import REPO, SECRET, Cli

ENGINE = f"""#!{sys.executable}
import json, os, signal, sys, time
place = os.environ["SEEN"]
with open(place + ".new", "w") as out:
    json.dump({{"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}}, out)
os.rename(place + ".new", place)
how = os.environ.get("HOW", "0")
if how == "wait":
    time.sleep(60)
print("from the engine")
sys.exit(int(how))
"""


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An engine environment whose vllm writes down what it was given."""
    engine = tmp_path / "venv/bin/vllm"
    engine.parent.mkdir(parents=True)
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    return tmp_path / "venv"


def test_the_engine_gets_what_resolve_prints(cli: Cli, venv: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    env: dict[str, str | None] = {
        "SEEN": str(seen),
        "HOW": "37",
        "VLLM_API_KEY": SECRET,
        "MINE": "kept",
        "VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "0",
        "VLLM_OFFLOAD_KEEP_SHM": "1",
    }
    words = ("--machine", "rtx-3090", "--profile", "dflash2-long", f"ENGINE_VENV={venv}", "DRAFT=/m/two words")
    flags = ("--", "--seed", "7", "--api-key", SECRET)
    ran = cli.run(*words, *flags, env=env, cwd=tmp_path)
    assert ran.status == 37, ran.err
    assert ran.out == "from the engine\n"
    got = json.loads(seen.read_text())
    data = json.loads(cli.run("resolve", "--json", *words, *flags, env=env).out)
    assert [*got["argv"]][1:] == [SECRET if word == "***" else word for word in data["argv"][1:]]
    assert got["cwd"] == str(REPO)
    assert got["env"]["VLLM_API_KEY"] == SECRET
    assert got["env"]["MINE"] == "kept"
    assert got["env"]["PATH"] == f"{venv}/bin:{cli.environ(env)['PATH']}"
    for name, value in data["env"]["set"].items():
        assert got["env"][name] == value
    assert data["env"]["unset"] == ["VLLM_PREFIX_CACHE_RETENTION_INTERVAL"]
    assert "VLLM_PREFIX_CACHE_RETENTION_INTERVAL" not in got["env"]
    ours = set(data["env"]["set"]) | {"PATH"}
    assert {k for k in got["env"] if k not in ours} == {k for k in cli.environ(env) if k not in ours} - {
        "VLLM_PREFIX_CACHE_RETENTION_INTERVAL"
    } | ({"LC_CTYPE"} & set(got["env"]))


def test_old_environment_names_alone_launch(cli: Cli, venv: Path, tmp_path: Path) -> None:
    """SPEC=dflash2 CTX=long launch.py, from any folder, through a link."""
    link = tmp_path / "start_qwen"
    link.symlink_to(REPO / "launch.py")
    seen = tmp_path / "seen.json"
    env: dict[str, str | None] = {
        "SEEN": str(seen),
        "SPEC": "off",
        "CTX": "long",
        "ENGINE_VENV": str(venv),
        "VLLM_OFFLOAD_KEEP_SHM": "1",
    }
    ran = cli.run("--machine", "rtx-3090", env=env, program=link, cwd="/")
    assert ran.status == 0, ran.err
    assert "fp8" in json.loads(seen.read_text())["argv"]


@pytest.mark.parametrize("python", [(sys.executable,), (sys.executable, "-I")])
def test_it_starts_isolated_as_well(cli: Cli, python: tuple[str, ...]) -> None:
    assert cli.run("profiles", python=python, cwd="/").status == 0


def test_signals_reach_the_engine(cli: Cli, venv: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    env = cli.environ({"SEEN": str(seen), "HOW": "wait", "ENGINE_VENV": str(venv), "VLLM_OFFLOAD_KEEP_SHM": "1"})
    words = [sys.executable, str(REPO / "launch.py"), "--machine", "rtx-3090", "--profile", "mtp-fast", "--quiet"]
    process = subprocess.Popen(words, env=env)
    until = time.monotonic() + 30
    while not seen.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert json.loads(seen.read_text())["pid"] == process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM


def test_a_refusal_starts_nothing(cli: Cli, venv: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    ran = cli.run("--machine", "rtx-3090", "CTX=x", env={"SEEN": str(seen), "ENGINE_VENV": str(venv)})
    assert ran.status == 1
    assert "refused: nothing is launched" in ran.err
    assert not seen.exists()


def test_print_argv(cli: Cli, venv: Path, tmp_path: Path) -> None:
    """PRINT_ARGV=1 prints the words, one a line, and starts nothing (R125)."""
    seen = tmp_path / "seen.json"
    words = ("--machine", "rtx-3090", "--profile", "mtp-long")
    ran = cli.run(*words, env={"SEEN": str(seen), "ENGINE_VENV": str(venv), "PRINT_ARGV": "1"})
    assert ran.status == 0
    assert ran.out == cli.run("resolve", *words, "--format", "argv", env={"ENGINE_VENV": str(venv)}).out
    assert not seen.exists()


def test_an_engine_that_cannot_be_started(cli: Cli, tmp_path: Path) -> None:
    ran = cli.run(
        "--machine", "rtx-3090", "--quiet", f"ENGINE_VENV={tmp_path}/none", env={"VLLM_OFFLOAD_KEEP_SHM": "1"}
    )
    assert ran.status == 1
    assert ran.err.startswith("error: the engine ")
    assert "fix: install vLLM" in ran.err


def test_the_probed_machine(cli: Cli, tmp_path: Path) -> None:
    """Without --machine the probe answers, about the engine environment that the request names."""
    site = tmp_path / "venv/lib/python3.12/site-packages"
    for name in ("vllm-0.31.0.dist-info", "pth_flash_attn-1.0.dist-info"):
        (site / name).mkdir(parents=True)
        (site / name / "METADATA").write_text("Name: x\n")
    data = json.loads(cli.run("resolve", "--json", "--profile", "mtp-fast", f"ENGINE_VENV={tmp_path}/venv").out)
    assert data["machine"] == "this machine"
    assert data["engine"].startswith("0.31.0")
    os.rename(site / "vllm-0.31.0.dist-info", site / "vllm-0.31.7.dist-info")
    ran = cli.run("resolve", "--profile", "mtp-fast", f"ENGINE_VENV={tmp_path}/venv")
    assert ran.status == 2
    assert "0.31.7" in ran.err
    assert "--engine" in ran.err
    ran = cli.run("resolve", "--json", "--profile", "mtp-fast", "--engine", "0.31.0", f"ENGINE_VENV={tmp_path}/venv")
    assert json.loads(ran.out)["engine"].startswith("0.31.0")
    ran = cli.run("resolve", "--json", f"ENGINE_VENV={tmp_path}/none")
    assert "no-engine-found" in {d["rule"] for d in json.loads(ran.out)["diagnostics"]}
