"""The one tool that servers are asked to call: to see whether they are ready, to accept them, and to measure them."""

from __future__ import annotations

import json
from typing import Any

CITIES = ("Paris", "Rome")
NAME = "get_time"
TOOL = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "Tell the time in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": list(CITIES)}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
FORCED = {"type": "function", "function": {"name": NAME}}
LIMIT = 256
"""Tokens of a forced call, which may run on for ever."""


def question(model: str, asks: str = "What time is it in Rome?") -> dict[str, Any]:
    """A request whose answer must be a call of TOOL."""
    return {
        "model": model,
        "messages": [{"role": "user", "content": asks}],
        "max_tokens": LIMIT,
        "temperature": 0,
        "tools": [TOOL],
        "tool_choice": FORCED,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def call_of(answer: dict[str, Any]) -> tuple[str, Any]:
    """Name and arguments of the first call in a whole answer, as they came; an empty name where there is none."""
    try:
        found: Any = answer["choices"][0]["message"]["tool_calls"][0]["function"]
        return str(found["name"]), found.get("arguments")
    except (LookupError, TypeError, AttributeError):
        return "", None


def wrong(name: str, arguments: Any, exact: bool = True) -> str:
    """Say what is wrong with a call; empty where nothing is.

    Args:
        name: of the tool that was called; empty for none.
        arguments: the text that came as its arguments.
        exact: what the schema does not have is wrong too. Engines enforce that only where they are told to.
    """
    if name != NAME:
        return f"the tool {name[:40]!r} was called, which nobody offered" if name else "no tool was called"
    found = _read(arguments)
    if found is None:
        return f"the tool's arguments are no JSON: {str(arguments)[:100]}"
    if not isinstance(found, dict) or found.get("city") not in CITIES or (exact and set(found) != {"city"}):
        return f"the tool's arguments do not fit: {arguments[:100]}"
    return ""


def said(name: str, arguments: Any) -> str:
    """The call in short; empty for none."""
    if not name:
        return ""
    return f"{name}({_read(arguments)['city'] if not wrong(name, arguments) else str(arguments)[:100]})"


def _read(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return None
