"""Did a copy come back? Scored by how much of the source is there, not by how the answer looks; then named, so that it can be looked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

TAIL = 2  # characters at the end of a cut answer that may be half a character or half a token
SHORTEST = 40  # a shorter answer proves nothing
GRAM = 40
FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)(?:\n```\s*)?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Grade:
    """How good a copy is.

    Attributes:
        kind: "verbatim", or what is wrong: see `grade`.
        matched: characters from the start that are the source's.
        expected: characters that a whole copy has, or that the answer had room for.
        repeated: how often the most frequent run of 40 characters comes.
        distinct: the share of the words that are different ones.
    """

    kind: str
    matched: int
    expected: int
    repeated: int
    distinct: float

    @property
    def verbatim(self) -> bool:
        """Whether it is a copy."""
        return self.kind == "verbatim"


def grade(answer: str, wanted: Sequence[str], elsewhere: Sequence[str] = (), cut: bool = False) -> Grade:
    """Compare an answer with the lines that were to be repeated.

    Args:
        answer: what came.
        wanted: the lines that were asked for, in order.
        elsewhere: further lines of the same document.
        cut: the answer was ended by its limit, so it may stop anywhere.

    Returns:
        kind, the first that fits: "verbatim", "empty", "one character" (one, again and again), "cut short" (right as far as it
        goes), "loop" (a run of its own text comes again and again), "garbled" (characters that no text has), "other case",
        "wrong place" (from the document, not from its start), "lines missing", "diverges" (right for a while, then not),
        "invented".
    """
    text = _unfenced(answer)
    source = "\n".join(wanted)
    matched = common(text, source)
    expected = min(len(source), len(text)) if cut else len(source)
    repeated, distinct = most_repeated(text), distinct_words(text)
    kind = _kind(text, source, matched, cut, repeated, wanted, elsewhere)
    return Grade(kind, matched, expected, repeated, distinct)


def _unfenced(answer: str) -> str:
    fenced = FENCE.match(answer)
    return (fenced[1] if fenced else answer).strip()


def _kind(
    text: str, source: str, matched: int, cut: bool, repeated: int, wanted: Sequence[str], elsewhere: Sequence[str]
) -> str:
    if not text:
        return "empty"
    if len(set(text) - set(" \n\t")) == 1:
        return "one character"
    if cut and len(text) > SHORTEST and matched >= len(text) - TAIL:
        return "verbatim"
    if text == source:
        return "verbatim"
    if matched == len(text):
        return "cut short"
    usual = most_repeated(source)
    if repeated > max(2, 2 * usual) or _cycles(text):
        return "loop"
    if "\ufffd" in text or sum(not char.isprintable() and char not in "\n\t" for char in text):
        return "garbled"
    if text.casefold()[: len(source)] == source.casefold()[: len(text)]:
        return "other case"
    lines = text.split("\n")
    whole = [line for line in (lines[:-1] if cut and len(lines) > 1 else lines) if line.strip()]
    known = set(wanted) | set(elsewhere)
    if whole and all(line in known for line in whole):
        return "lines missing" if whole[0] == wanted[0] else "wrong place"
    return "diverges" if matched > SHORTEST else "invented"


def common(first: str, second: str) -> int:
    """How many characters two texts have in common from their starts."""
    for at, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return at
    return min(len(first), len(second))


def most_repeated(text: str) -> int:
    """How often the most frequent run of 40 characters comes; 0 for a shorter text."""
    grams = Counter(text[at : at + GRAM] for at in range(len(text) - GRAM + 1))
    return max(grams.values(), default=0)


def _cycles(text: str) -> bool:
    """Whether the end of a text is one short run again and again: four times or more, and 40 characters at least."""
    end = text[-400:]
    for period in range(1, len(end) // 4 + 1):
        if len(end) >= max(GRAM, 4 * period):
            size = max(GRAM, 4 * period)
            tail = end[-size:]
            if tail[period:] == tail[:-period]:
                return True
    return False


def distinct_words(text: str) -> float:
    """The share of the words that are different ones; 1.0 for a text of fewer than 20 words.

    A text without spaces is one word however long: then runs of four characters stand for words.
    """
    words = text.split()
    if len(words) < 20 and len(text) >= 80:
        words = [text[at : at + 4] for at in range(0, len(text) - 3, 4)]
    return len(set(words)) / len(words) if len(words) >= 20 else 1.0
