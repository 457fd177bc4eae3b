"""Does a tool call go there and back? Forced, whole and streamed, with arguments that fit the schema; then its result is handed in."""

from __future__ import annotations

import json
from typing import Any

from resolver.measure.journal import Journal, Record
from resolver.measure.report import Finding, Report
from resolver.measure.server import TEMPLATE, Message, Server
from resolver.serving import ready
from resolver.serving.client import BadAnswer, NoAnswer

NAME, VERSION = "tool-call", 1
LIMIT, RESULT = 256, "14:35"  # a forced call may run on for ever, so each has a limit
USER: Message = {"role": "user", "content": "What time is it in Rome? Use the tool, then tell me the time."}
FORCED = {"type": "function", "function": {"name": "get_time"}}


def run(server: Server, options: Any = None, journal: Journal | None = None) -> Report:
    """Call the tool, whole and streamed, then hand in a result. There are no options."""
    journal = journal or Journal()

    def work(key: str) -> Record:
        problem, said = {"whole": _whole, "streamed": _streamed, "result": _result}[key](server)
        return {"problem": problem, "said": said}

    kept = journal.pieces(f"{NAME}.{VERSION}", (), ["whole", "streamed", "result"], work)
    found = [_finding(key, record) for key, record in kept.items()]
    return Report(NAME, (), tuple(found), journal.interrupted)


def wrong(name: str, arguments: str) -> str:
    """Say what is wrong with a call; empty where nothing is."""
    if name != "get_time":
        return f"the tool {name[:40]!r} was called" if name else "no tool was called"
    try:
        found = json.loads(arguments)
    except ValueError:
        return f"the arguments are no JSON: {arguments[:100]}"
    if not isinstance(found, dict) or set(found) != {"city"} or found["city"] not in ready.CITIES:
        return f"the arguments do not fit the schema: {arguments[:100]}"
    return ""


def _body() -> dict[str, Any]:
    return {"tools": [ready.TOOL], "tool_choice": FORCED}


def _whole(server: Server) -> tuple[str, str]:
    try:
        answer = server.client.post(
            "/v1/chat/completions",
            {
                "model": server.model,
                "messages": [USER],
                "max_tokens": LIMIT,
                "temperature": 0,
                "chat_template_kwargs": TEMPLATE,
                **_body(),
            },
        )
        message = answer["choices"][0]["message"]
        call = message["tool_calls"][0]["function"]
        name, arguments = str(call["name"]), str(call["arguments"])
    except (NoAnswer, BadAnswer) as error:
        return str(error), ""
    except (LookupError, TypeError):
        return "no tool was called", ""
    return wrong(name, arguments), f"{name}({arguments[:100]})"


def _streamed(server: Server) -> tuple[str, str]:
    answer = server.chat([USER], LIMIT, **_body())
    if answer.problem:
        return answer.problem, ""
    name, arguments = answer.calls[0] if answer.calls else ("", "")
    return wrong(name, arguments), f"{name}({arguments[:100]})"


def _result(server: Server) -> tuple[str, str]:
    call = {"id": "call_0", "type": "function", "function": {"name": "get_time", "arguments": '{"city": "Rome"}'}}
    chat: list[Message] = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": RESULT},
    ]
    answer = server.chat(chat, LIMIT, tools=[ready.TOOL], tool_choice="auto")
    if answer.problem:
        return answer.problem, ""
    return ("" if answer.said or answer.calls else "the answer to the tool's result is empty"), answer.said[:200]


def _finding(key: str, record: Record) -> Finding:
    subject = {"whole": "forced call", "streamed": "forced call, streamed", "result": "answer to the result"}[key]
    details = {"said": record["said"]}
    if record["problem"]:
        return Finding(subject, "broken", record["problem"], details)
    if key != "result":
        return Finding(subject, "clean", record["said"], details)
    if RESULT in record["said"]:
        return Finding(subject, "clean", f"the answer names the result, {RESULT}", details)
    return Finding(
        subject, "inconclusive", f"the server takes the result, and its answer does not name it ({RESULT})", details
    )
