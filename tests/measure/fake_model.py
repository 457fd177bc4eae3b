"""The "model" of the server that is measured: it counts tokens, copies, finds needles and does sums, so that tools find something right."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Any

from resolver.measure.corpus import Dice, sentence

PIECE = re.compile(r" ?[A-Za-z0-9_]+|.", re.DOTALL)
TEMPLATE = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def pieces(text: str) -> list[str]:
    """The tokens of a text, as text."""
    return PIECE.findall(text)


def ids(text: str) -> list[int]:
    """The tokens of a text, as numbers."""
    return [zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 50000 for piece in pieces(text)]


def bytes_of(text: str) -> list[int]:
    """A tokenizer of bytes, such as the tiny model has."""
    return list(text.encode("utf-8"))


def text_of(messages: Sequence[dict[str, Any]]) -> str:
    """The chat after the template."""
    return TEMPLATE.format("\n".join(f"{one['role']}: {one.get('content') or ''}" for one in messages))


def answer_to(messages: Sequence[dict[str, Any]]) -> str:
    """What a good model says."""
    said = str(messages[-1].get("content"))
    if found := re.search(r"Repeat the first (\d+) lines", said):
        return "\n".join(said.split("\n\n", maxsplit=1)[0].split("\n")[: int(found[1])])
    if found := re.search(r"secret number of the ([a-z ]+) vault\?", said):
        number = re.search(rf"secret number of the {found[1]} vault is (\d+)", said)
        return f"It is {number[1]}." if number else "I do not know."
    if found := re.search(r"What is (\d+) plus (\d+)\?", said):
        return f"Let me see.\n#### {int(found[1]) + int(found[2])}"
    if messages[-1]["role"] == "tool":
        return f"It is {said} in Rome."
    dice = Dice("fake", said[-200:], len(said))
    return " ".join(sentence(dice) for _ in range(200))
