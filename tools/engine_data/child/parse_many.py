"""Parses many command lines with the real parser of one version, in one process."""

from __future__ import annotations

import functools
from typing import Any

from tools.engine_data.child.attempt import attempt
from tools.engine_data.child.loading import cli_module, serve_parser


def run(payload: Any) -> list[list[Any]]:
    """For each list of words behind `vllm serve`: [accepted, reason or ""].

    A reason that starts with "validate: " comes from the checks that vLLM makes right after the parse.
    """
    outer, _ = serve_parser()
    validate = cli_module().validate_parsed_serve_args
    answers: list[list[Any]] = []
    for argv in payload:
        parsed, reason = attempt(functools.partial(outer.parse_args, ["serve", *argv]))
        if reason is None:
            _, late = attempt(functools.partial(validate, parsed))
            reason = None if late is None else f"validate: {late}"
        answers.append([reason is None, reason or ""])
    return answers
