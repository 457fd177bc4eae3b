"""How does a resolved launch become the engine? By exec: from then on signals and exit status are vLLM's own."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from resolver.serving import regions, secrets
from resolver.serving.errors import LaunchError

KEEP = "VLLM_OFFLOAD_KEEP_SHM"


def engine_path(word: str, cwd: Path) -> Path:
    """Return the program that argv's first word names, looked up from `cwd`, without resolving links.

    Raises:
        LaunchError: it is missing or cannot be run.
    """
    path = Path(os.path.abspath(cwd / word))
    venv = path.parent.parent
    if not path.exists():
        what = "is missing" if venv.is_dir() else f"is missing, and so is the environment {venv}"
        raise LaunchError(
            f"the engine {path} {what}",
            f"install vLLM into {venv}, or name the environment that has it with ENGINE_VENV",
        )
    if not path.is_file() or not os.access(path, os.X_OK):
        raise LaunchError(
            f"the engine {path} is not a program that can be run",
            f"install vLLM into {venv} again, or name another environment with ENGINE_VENV",
        )
    return path


def launch(
    argv: list[str],
    env: dict[str, str],
    cwd: Path,
    *,
    keep_regions: bool | None = None,
    key_file: Path | None = None,
    key_needed: bool = False,
) -> NoReturn:
    """Replace this process by the engine.

    Args:
        argv: the words of the command; the first is a path, looked up from `cwd`.
        env: the engine's whole environment; nothing is inherited beside it.
        cwd: the folder it runs in, the product's root.
        keep_regions: leave stale offload regions alone; None reads VLLM_OFFLOAD_KEEP_SHM in `env` (R2).
        key_file: read the API key from here when `env` has none (R123); None looks nowhere.
        key_needed: refuse to start without a key.

    Raises:
        LaunchError: the engine cannot be started; nothing was removed or changed unless the program was there.
    """
    program = engine_path(argv[0], cwd)
    environ = secrets.with_key(env, key_file, key_needed) if key_file is not None else dict(env)
    keep = environ.get(KEEP) == "1" if keep_regions is None else keep_regions
    for path in regions.remove_stale_regions(keep):
        print(f"[start_qwen] removing stale offload region {path}")
    _exec(program, argv, environ, cwd)


def _exec(program: Path, argv: list[str], environ: dict[str, str], cwd: Path) -> NoReturn:
    try:
        os.chdir(cwd)
    except OSError as error:
        raise LaunchError(f"cannot change to {cwd} ({error.strerror})", "check that the folder is there") from None
    sys.stdout.flush()
    sys.stderr.flush()
    ignored = {name: signal.getsignal(name) for name in (signal.SIGPIPE, signal.SIGXFSZ)}
    for name in ignored:
        signal.signal(name, signal.SIG_DFL)  # Python ignores these two, and what is ignored stays so through exec
    try:
        os.execve(program, argv, environ)
    except (OSError, ValueError) as error:
        for name, handler in ignored.items():
            signal.signal(name, handler)
        raise _explain(error, program) from None


def _explain(error: Exception, program: Path) -> LaunchError:
    """Say why exec failed. The error's own text is not repeated: it may hold a word of the environment."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT:
        return LaunchError(
            f"the engine {program} is there and the interpreter in its first line is not",
            "make the environment again: it was moved, or its Python removed",
        )
    if number == errno.ENOEXEC:
        return LaunchError(f"the engine {program} is not a program for this machine", "install vLLM again")
    if number == errno.E2BIG:
        return LaunchError(
            "the command and its environment are too large for this system",
            "shorten EXTRA_ARGS or remove large variables",
        )
    if number is None:
        return LaunchError(
            "a word of the command or a variable holds a zero byte, or a variable's name is not one",
            "check the knobs and the environment for it",
        )
    return LaunchError(
        f"the engine {program} cannot be started ({os.strerror(number)})",
        "check its permissions and the file system it is on",
    )
