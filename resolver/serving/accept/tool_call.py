"""Is a tool that must be called called, with arguments that fit, and does the call come to an end?"""

from __future__ import annotations

from resolver.serving.accept.basis import NotApplicable, Refuted, Subject
from resolver.serving.ready import judge_tool_call, tool_question

NAME = "tool call"


def run(subject: Subject) -> str:
    """One forced call; a call that goes on with white space until its limit is none."""
    if not subject.target.tools:
        raise NotApplicable("the launch has no tool parser")
    answer = subject.target.client.post("/v1/chat/completions", tool_question(subject.target.model))
    said = judge_tool_call(answer)
    if answer["choices"][0].get("finish_reason") == "length":
        raise Refuted(
            "the tool call goes on until its limit",
            "set TOOL_STRICT=parameter, or let clients set a limit of their own",
        )
    return said
