"""Is a tool that must be called called, with arguments that fit, and does the call come to an end?"""

from __future__ import annotations

from resolver.serving import tool_call
from resolver.serving.accept.basis import NotApplicable, Refuted, Subject
from resolver.serving.ready import Failed

NAME = "tool call"


def run(subject: Subject) -> str:
    """One forced call; a call that goes on with white space until its limit is none."""
    if not subject.target.tools:
        raise NotApplicable("the launch has no tool parser")
    answer = subject.target.client.post("/v1/chat/completions", tool_call.question(subject.target.model))
    name, arguments = tool_call.call_of(answer)
    if problem := tool_call.wrong(name, arguments):
        raise Failed(problem)
    if answer["choices"][0].get("finish_reason") == "length":
        raise Refuted(
            "the tool call goes on until its limit",
            "set TOOL_STRICT=parameter, or let clients set a limit of their own",
        )
    return tool_call.said(name, arguments)
