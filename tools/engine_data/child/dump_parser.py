"""Dumps every flag of the real `vllm serve` parser: spellings, action, arity, choices, type and default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.engine_data.child.config_schemas import config_schemas
from tools.engine_data.child.loading import cli_module, load, serve_parser
from tools.engine_data.child.plain import plain

WRAPPERS = {"optional_type.<locals>._optional_type": "optional", "parse_type.<locals>._parse_type": "parse"}


def _closure(function: Callable[..., Any], name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return cells[name].cell_contents


def type_chain(kind: Any) -> list[str]:
    """Names of a type function from the outside in: ['optional', 'parse', 'loads'] for optional_type(json.loads)."""
    if kind is None:
        return []
    name = getattr(kind, "__qualname__", None) or repr(kind)
    if name in WRAPPERS:
        return [WRAPPERS[name], *type_chain(_closure(kind, "return_type"))]
    if name.endswith("<lambda>"):
        return [_by_behaviour(kind)]
    return [name.rsplit(".", 1)[-1]]


def _by_behaviour(function: Callable[[str], Any]) -> str:
    """Names a lambda by what it does to a probe text. Raises ValueError on one that does neither known thing."""
    answer = function("0, A-b")
    if answer == [0, "A-b"]:
        return "id_list"
    if answer == "0, a_b":
        return "lower_underscore"
    raise ValueError(f"an unknown type function answers {answer!r} to the probe")


def _choices(action: Any) -> list[Any] | None:
    return None if action.choices is None else [plain(choice) for choice in action.choices]


def run(payload: Any) -> dict[str, Any]:
    """The dump. `payload` is not used. Flags are keyed by dest; options come from the parser's own table, hidden ones too."""
    __version__ = load("vllm.version").__version__

    _, parser = serve_parser()
    flags: dict[str, Any] = {}
    for action in parser._actions:
        if action.dest in flags:
            raise ValueError(f"two actions share the dest {action.dest}")
        known = [option for option, owner in parser._option_string_actions.items() if owner is action]
        negative = getattr(action, "negative_option_strings", None)
        chain = type_chain(action.type)
        flags[action.dest] = {
            "options": known,
            "shown": list(action.option_strings),
            "negative": sorted(negative) if negative is not None else [o for o in known if o.startswith("--no-")],
            "action": type(action).__name__,
            "nargs": action.nargs,
            "const": plain(action.const) if action.nargs == "?" else None,
            "choices": _choices(action),
            "type": chain,
            "default": plain(action.default),
            "default_repr": repr(action.default),
        }
    envs = load("vllm.envs")

    return {
        "version": __version__,
        "cli_module": cli_module().__name__,
        "allow_abbrev": parser.allow_abbrev,
        "flags": flags,
        "configs": config_schemas(
            {dest for dest, flag in flags.items() if {"loads", "parse_dataclass"} & set(flag["type"])}
        ),
        "variables": sorted(envs.environment_variables),
    }
