"""Does a tool call go there and back? Forced, whole and streamed, with arguments that fit the schema; then its result is handed in."""

from __future__ import annotations

from typing import Any

from resolver.measure.journal import Journal, Record
from resolver.measure.report import Finding, Report
from resolver.measure.server import Message, Server
from resolver.serving import tool_call as tool
from resolver.serving.client import BadAnswer, NoAnswer

NAME, VERSION = "tool-call", 1
RESULT = "14:35"
ASKS = "What time is it in Rome? Use the tool, then tell me the time."
USER: Message = {"role": "user", "content": ASKS}


def run(server: Server, options: Any = None, journal: Journal | None = None) -> Report:
    """Call the tool, whole and streamed, then hand in a result. There are no options."""
    journal = journal or Journal()

    def work(key: str) -> Record:
        problem, said = {"whole": _whole, "streamed": _streamed, "result": _result}[key](server)
        return {"problem": problem, "said": said}

    kept = journal.pieces(f"{NAME}.{VERSION}", (), ["whole", "streamed", "result"], work)
    found = [_finding(key, record) for key, record in kept.items()]
    return Report(NAME, (), tuple(found), journal.interrupted)


def _whole(server: Server) -> tuple[str, str]:
    try:
        answer = server.client.post("/v1/chat/completions", tool.question(server.model, ASKS))
    except (NoAnswer, BadAnswer) as error:
        return str(error), ""
    name, arguments = tool.call_of(answer)
    return tool.wrong(name, arguments), tool.said(name, arguments)


def _streamed(server: Server) -> tuple[str, str]:
    answer = server.chat([USER], tool.LIMIT, tools=[tool.TOOL], tool_choice=tool.FORCED)
    if answer.problem:
        return answer.problem, ""
    name, arguments = answer.calls[0] if answer.calls else ("", "")
    return tool.wrong(name, arguments), tool.said(name, arguments)


def _result(server: Server) -> tuple[str, str]:
    call = {"id": "call_0", "type": "function", "function": {"name": tool.NAME, "arguments": '{"city": "Rome"}'}}
    chat: list[Message] = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": RESULT},
    ]
    answer = server.chat(chat, tool.LIMIT, tools=[tool.TOOL], tool_choice="auto")
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
