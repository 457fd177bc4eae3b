"""Builds the command parser that `vllm serve` uses, without the rest of the command."""

from __future__ import annotations

import importlib
from typing import Any

CLI_MODULES = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)


def load(name: str) -> Any:
    """A module of the parser environment. By name, because the product's own environment has neither vLLM nor torch."""
    return importlib.import_module(name)


def cli_module() -> Any:
    """The module that holds `make_arg_parser` in this version. Raises ImportError with every name tried."""
    for name in CLI_MODULES:
        try:
            module = load(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            continue
        if hasattr(module, "make_arg_parser"):
            return module
    raise ImportError(f"no make_arg_parser in any of {', '.join(CLI_MODULES)}")


def serve_parser() -> tuple[Any, Any]:
    """The two parsers of the command: the outer one (`vllm`) and its `serve`, put together as vLLM's own main does."""
    FlexibleArgumentParser = load("vllm.utils.argparse_utils").FlexibleArgumentParser
    __version__ = load("vllm.version").__version__

    outer = FlexibleArgumentParser(prog="vllm", description="vLLM CLI")
    outer.add_argument("-v", "--version", action="version", version=__version__)
    commands = outer.add_subparsers(required=False, dest="subparser")
    serve = commands.add_parser("serve", usage="vllm serve [model_tag] [options]")
    return outer, cli_module().make_arg_parser(serve)
