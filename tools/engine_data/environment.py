"""The parser environment: a venv with vLLM's light dependencies, and beside it the Python files of each wheel.

Layout: `<env>/bin/python`, `<env>/src/<version>/vllm/...`. One environment serves all versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("parser-requirements.txt")

_START = (
    "import sys, json, importlib; root, name, given, answer = sys.argv[1:5]; sys.argv = ['vllm']; sys.path.insert(0, root);"
    "module = importlib.import_module('tools.engine_data.child.' + name);"
    "[importlib.import_module('tools.engine_data.child.' + n) for n in ('loading', 'plain', 'fake_cuda', 'attempt', 'tiny_models', 'config_schemas')];"
    "sys.path.remove(root);"
    "json.dump(module.run(json.load(open(given))), open(answer, 'w'))"
)


class ParserEnvironmentError(RuntimeError):
    """The parser environment is missing, or code inside it failed; the text holds the end of its error output."""


def create(env: Path) -> None:
    """Makes the venv and installs the pinned packages (about 1.5 GB on disk). Does nothing where it is complete."""
    stamp = env / "requirements.installed"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
    pip = [str(env / "bin/python"), "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
    stamp.write_text(wanted, encoding="utf-8")


def source(env: Path, version: str) -> Path:
    """Folder of one version's Python files; it may not exist yet."""
    return env / "src" / version


def ready(env: Path, version: str) -> bool:
    """Whether the environment can run this version."""
    return (env / "bin/python").exists() and (source(env, version) / "vllm/version.py").is_file()


def call(env: Path, version: str, name: str, payload: Any, *, device: str | None = "cpu", timeout: float = 540) -> Any:
    """Runs `tools.engine_data.child.<name>.run(payload)` under this version and returns its result.

    `device` becomes VLLM_TARGET_DEVICE (None: unset, for a faked CUDA platform). `timeout` is in seconds.
    Raises ParserEnvironmentError where the environment is missing or the child fails or runs out of time.
    """
    if not ready(env, version):
        raise ParserEnvironmentError(
            f"{env} has no vLLM {version}; make it: python -m tools.engine_data env --env {env} {version}"
        )
    with tempfile.TemporaryDirectory() as place:
        given, answer = Path(place, "given.json"), Path(place, "answer.json")
        given.write_text(json.dumps(payload), encoding="utf-8")
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("VLLM_", "PYTHON", "PYTORCH_"))}
        environ |= {
            "PYTHONPATH": str(source(env, version)),
            "VLLM_LOGGING_LEVEL": "ERROR",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_CACHE_ROOT": str(Path(place, "cache")),
        }
        if device is not None:
            environ["VLLM_TARGET_DEVICE"] = device
        command = [str(env.absolute() / "bin/python"), "-P", "-c", _START, str(ROOT), name, str(given), str(answer)]
        try:
            done = subprocess.run(
                command, check=False, env=environ, cwd=place, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired as error:
            raise ParserEnvironmentError(f"{name} under vLLM {version} took more than {timeout:.0f} s") from error
        if done.returncode or not answer.is_file():
            tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-12:])
            raise ParserEnvironmentError(f"{name} under vLLM {version} ended with {done.returncode}:\n{tail}")
        return json.loads(answer.read_text(encoding="utf-8"))
