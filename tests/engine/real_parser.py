"""The real command parser of vLLM, asked from tests; needs a parser environment (see `python -m tools.engine_data env`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.engine_data import environment

VARIABLE = "PARSER_VENV"


def where() -> Path | None:
    """Folder of the parser environment that PARSER_VENV names; None where it is not set."""
    text = os.environ.get(VARIABLE, "")
    return Path(text) if text else None


def available(version: str) -> bool:
    """Whether `parse_many` can answer for this version."""
    place = where()
    return place is not None and environment.ready(place, version)


def need(version: str) -> Path:
    """The environment's folder. Raises ParserEnvironmentError where PARSER_VENV is unset or lacks this version."""
    place = where()
    if place is None or not environment.ready(place, version):
        raise environment.ParserEnvironmentError(
            f"{VARIABLE} names no environment with vLLM {version}; make one: "
            f"python -m tools.engine_data env --env FOLDER {version}"
        )
    return place


def serve_words(argv: Sequence[str]) -> list[str]:
    """The words behind `vllm serve` of a whole command line. Raises ValueError where it is not a `... vllm serve ...`."""
    if len(argv) < 2 or Path(argv[0]).name != "vllm" or argv[1] != "serve":
        raise ValueError(f"not a vllm serve command: {argv[:2]}")
    return list(argv[2:])


def parse_many(
    version: str, argvs: Sequence[Sequence[str]], choices: Mapping[str, Sequence[str]] | None = None
) -> list[tuple[bool, str]]:
    """For each command line (with or without `.../vllm serve` in front): (accepted, the parser's own reason or "").

    One process for all: about 8 s to import, then 5 ms each. A reason that starts with "validate: " comes from vLLM's
    checks right behind the parse. `choices` adds choices to flags by dest, as an overlay brings them. Raises ParserEnvironmentError where the environment is missing or breaks.
    """
    words = [serve_words(argv) if list(argv[1:2]) == ["serve"] else list(argv) for argv in argvs]
    answers = environment.call(need(version), version, "parse_many", {"argvs": words, "choices": choices or {}})
    return [(bool(ok), str(reason)) for ok, reason in answers]
