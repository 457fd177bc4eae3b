"""Does a prompt as long as the launch promises get an answer?"""

from __future__ import annotations

from resolver.serving.accept.basis import ROOM, Subject, text

NAME = "long prompt"
MOST = 262_144
"""Tokens: longer ones take too long to be part of a short battery, and nothing here serves them."""
ANSWER = 8


def run(subject: Subject) -> str:
    """One request of almost the longest length, as token ids, so that its length is exact."""
    longest = subject.longest()
    length = max(1, min(longest, MOST) - ROOM - subject.query_tokens)
    answer = subject.complete(subject.prompt("long prompt", length), ANSWER)
    return f"{length:,} of {longest:,} tokens, and {ANSWER} more: {len(text(answer))} characters"
