"""Which prompt has so many tokens? A document of the corpus, cut so that the chat, after the template, is as long as was asked.

Lengths are the server's own counts of the templated chat (/tokenize): a raw count is off by what the template adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resolver.measure import corpus
from resolver.measure.server import Message, NotMeasurable, Server

TASKS = {
    "summary": ("prose", "Write a long summary of the text above, in your own words."),
    "copy": ("prose", "Repeat the text above word by word, from its first line on."),
    "quote": ("prose", "Quote, word by word, every line above that speaks of water, metal or wood."),
    "qa": ("prose", "Ask twenty questions about the text above, and answer each in a sentence."),
    "edit": ("code", "Repeat the module above with every parameter renamed, and with type hints kept."),
    "code": ("code", "Write unit tests for the module above, a test for each function."),
}
"""What is asked of a document: kind of the document, and the instruction. How well drafts are accepted depends on it."""
TRIES = 12


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat, and how many tokens it has after the template."""

    messages: tuple[Message, ...]
    tokens: int


def user(text: str) -> tuple[Message, ...]:
    """A chat of one message."""
    return ({"role": "user", "content": text},)


def task(server: Server, name: str, seed: object, tokens: int) -> Prompt:
    """Return a prompt of a task, at most `tokens` long and shorter by less than a line or two. See `fitted`."""
    kind, instruction = TASKS[name]
    return fitted(server, lambda body: user(f"{body}\n\n{instruction}"), seed, tokens, kind)


def fitted(
    server: Server, frame: Callable[[str], Sequence[Message]], seed: object, tokens: int, kind: str = "prose"
) -> Prompt:
    """Return a chat whose document is as long as fits.

    Args:
        server: counts the tokens.
        frame: puts a document into a chat.
        seed: of the document.
        tokens: the most tokens of the whole chat.
        kind: of the document.

    Raises:
        NotMeasurable: not even a chat without a document fits, or the server's counts make no sense.
    """
    bare = server.tokens_of_chat(frame(""))
    if bare + 32 > tokens:
        raise NotMeasurable(
            f"a prompt of {tokens} tokens has no room for a document: the question alone takes {bare}",
            "give a longer one with --contexts",
        )
    lines: list[str] = []
    source = corpus.lines(seed, kind)
    per_line = 20.0
    fits, over = Prompt((), 0), 0  # the longest that fits, and the fewest lines that do not (0: not known)
    low, at = 0, max(1, int((tokens - bare) / per_line))
    for _ in range(TRIES):
        while len(lines) < at:
            lines.append(next(source))
        messages = tuple(frame("\n".join(lines[:at])))
        count = server.tokens_of_chat(messages)
        per_line = max(1.0, (count - bare) / at)
        if count <= tokens:
            low, fits = at, Prompt(messages, count)
            if tokens - count < 1.5 * per_line:
                break
        else:
            over = at
        if over == low + 1:
            break
        at = max(low + 1, at + int((tokens - count) / per_line))
        if over:
            at = min(at, over - 1)
    if not low:
        raise NotMeasurable(f"no document was found that makes a prompt of {tokens} tokens", "give another --contexts")
    return fits
