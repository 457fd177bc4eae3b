"""The command line: `python -m tools.cpu_engine install --venv DIR` and `... model --out DIR`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools.cpu_engine import install, tiny_model


def say(text: str) -> None:
    """Print a line of progress to standard error."""
    print(f"cpu_engine: {text}", file=sys.stderr, flush=True)


def main(words: list[str] | None = None) -> int:
    """Run the command. Returns 0, or 1 with a message on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.cpu_engine", description=sys.modules["tools.cpu_engine"].__doc__
    )
    jobs = parser.add_subparsers(dest="job", required=True)
    engine = jobs.add_parser("install", help=f"install the CPU build of vLLM {install.VERSION}")
    engine.add_argument("--venv", type=Path, required=True, help="folder of the environment, made if missing")
    engine.add_argument("--torch-index", metavar="URL", help="index of PyTorch's CPU builds, where pip's own has none")
    model = jobs.add_parser("model", help="write the tiny model (300 KB, nothing is downloaded)")
    model.add_argument("--out", type=Path, required=True, help="folder of the model, made if missing")
    asked = parser.parse_args(words)
    began = time.monotonic()
    try:
        if asked.job == "install":
            done = install.install(asked.venv, asked.torch_index, say)
            what = f"vLLM {install.VERSION} for the CPU in {asked.venv}"
        else:
            done = tiny_model.make(asked.out)
            what = f"tiny model in {asked.out}"
    except (install.InstallError, tiny_model.ModelError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: run it again to finish")
        return 130
    say(f"{what}: {'made' if done else 'there already'}, {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
