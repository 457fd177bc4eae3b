"""Parses many command lines with the real parser of one version, in one process."""

from __future__ import annotations

import functools
from typing import Any

from tools.engine_data.child.attempt import attempt
from tools.engine_data.child.loading import cli_module, serve_parser


def run(payload: Any) -> list[list[Any]]:
    """For each list of words behind `vllm serve` in payload["argvs"]: [accepted, reason or ""].

    payload["choices"] adds choices to flags by dest, as an engine with an overlay has them. Raises KeyError for a flag
    without choices.

    A reason that starts with "validate: " comes from the checks that vLLM makes right after the parse.
    """
    outer, serve = serve_parser()
    actions = {action.dest: action for action in serve._actions if action.choices is not None}
    for dest, more in payload["choices"].items():
        actions[dest].choices = [*actions[dest].choices, *more]
    validate = cli_module().validate_parsed_serve_args
    answers: list[list[Any]] = []
    for argv in payload["argvs"]:
        parsed, reason = attempt(functools.partial(outer.parse_args, ["serve", *argv]))
        if reason is None:
            _, late = attempt(functools.partial(validate, parsed))
            reason = None if late is None else f"validate: {late}"
        answers.append([reason is None, reason or ""])
    return answers
