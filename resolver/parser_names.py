"""Is there a tool-call or reasoning parser of that name? The engine's command line takes any text, and its start fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resolver.causes import causes
from resolver.diagnostics import Diagnostic, nearest

if TYPE_CHECKING:
    from resolver.resolution import Resolution

PLUGINS = {"tool_call_parser": "tool_parser_plugin", "reasoning_parser": "reasoning_parser_plugin"}
"""The flag by which a user brings parsers of his own."""


def unknown_parsers(resolution: Resolution) -> Iterator[Diagnostic]:
    """A refusal for each parser that the engine does not have. Nothing is said where a plugin may bring it, or the data do not tell."""
    passed = resolution.passthrough
    for flag, plugin in PLUGINS.items():
        known = resolution.engine.parsers.get(flag, ())
        if not known or plugin in passed.flags or (flag == "tool_call_parser" and not _calls_tools(resolution)):
            continue
        typed = passed.last_text.get(flag)
        name = typed or resolution.setting(flag)
        if name in known or not isinstance(name, str) or not name:
            continue
        near = nearest(name, list(known))
        said = f"--{flag.replace('_', '-')} {name}" if typed or flag != "tool_call_parser" else f"TOOL_PARSER={name}"
        yield Diagnostic(
            "refuse",
            f"unknown-{flag.replace('_', '-')}",
            f"{said}: vLLM {resolution.engine.version} has no parser of this name",
            f"did you mean {near}?" if near else f"use one of {', '.join(known)}",
            causes=causes(resolution, iter((f"extra.last.{flag}" if typed else flag,))),
        )


def _calls_tools(resolution: Resolution) -> bool:
    """Whether the engine looks at the tool-call parser's name."""
    return bool(
        resolution.lookup("tools") == "on" or resolution.passthrough.last.get("enable_auto_tool_choice") == "on"
    )
