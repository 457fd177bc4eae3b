"""What `make run` shows: the launch for this machine's GPU, then a real server on its CPU that is asked and stopped again.

`python -m tools.first_run` expects what `make engine` makes: the CPU engine in venv-cpu and the tiny model in models/cpu-tiny.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = "venv-cpu"


def say(text: str) -> None:
    """Print a line of this tool's own."""
    print(f"\n== {text}", flush=True)


def without_knobs(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment less the product's knobs, so that the first run is the same everywhere; a key stays."""
    from resolver.compile import open_resolver

    knobs = open_resolver(ROOT).table.by_variable
    return {name: text for name, text in environ.items() if name not in knobs or name == "VLLM_API_KEY"}


def free_port() -> int:
    """A port of the loopback that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def launch(words: list[str], environ: Mapping[str, str]) -> int:
    """Run launch.py. Returns its exit status."""
    return subprocess.run(
        [sys.executable, str(ROOT / "launch.py"), *words], env=dict(environ), cwd=ROOT, check=False
    ).returncode


def main() -> int:
    """Show and boot. Returns 0, or the exit status of the boot."""
    from resolver.serving.probe import probe

    began = time.monotonic()
    environ = without_knobs(os.environ)
    facts = probe(ROOT, environ)["facts"]
    assert isinstance(facts, dict)
    if facts["device"] == "cuda":
        say("on this machine's GPU (nothing is started)")
        launch(["resolve", "--format", "table"], environ)
    else:
        say(
            "no GPU here: `launch.py resolve --machine rtx-3090` shows what one would get; the CPU serves a tiny model now"
        )
    say("the profile cpu-tiny on this machine's CPU: random weights, so the answers are nonsense")
    words = ["--profile", "cpu-tiny", f"ENGINE_VENV={ENGINE}", "HOST=127.0.0.1", f"PORT={free_port()}"]
    status = launch(["serve", *words, "--once", "--ask", "Hello"], environ)
    done = (
        "booted, asked, answered and stopped"
        if status == 0
        else f"the server did not do what it should (exit status {status})"
    )
    say(f"{done}: {time.monotonic() - began:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
