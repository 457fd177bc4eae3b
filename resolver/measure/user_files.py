"""What do the user's own files hold? Text for perplexity, and questions with answers; nothing is downloaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from resolver import files
from resolver.diagnostics import UsageError
from resolver.measure.corpus import digest

LARGEST = 256 << 20


@dataclass(frozen=True, slots=True)
class Question:
    """One question: its text and the answer that is right."""

    text: str
    answer: str


def text(path: Path) -> str:
    """Read a text.

    Raises:
        UsageError: it cannot be read, is empty, or is no UTF-8.
    """
    raw = _bytes(path, "--text")
    try:
        found = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise UsageError(f"{path}:{line}:{column}: this is no UTF-8", "name a plain text file with --text") from None
    if not found.strip():
        raise UsageError(f"{path} holds no text", "name another file with --text")
    return found


def questions(path: Path) -> list[Question]:
    """Read questions: JSON lines, each an object with `question` and `answer`; of `... #### 18` only the 18 counts.

    Raises:
        UsageError: a line is something else.
    """
    fix = 'write each line as {"question": "...", "answer": "..."}'
    found = []
    for number, line in enumerate(_bytes(path, "--questions").splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{path}:{number}:{error.colno}: this line is no JSON", fix) from None
        except (ValueError, RecursionError):
            raise UsageError(f"{path}:{number}:1: this line is no JSON in UTF-8", fix) from None
        if not isinstance(entry, dict) or not isinstance(entry.get("question"), str) or "answer" not in entry:
            raise UsageError(f"{path}:{number}:1: this line has no `question` and `answer`", fix)
        answer = str(entry["answer"]).rpartition("####")[2].strip()
        if not answer:
            raise UsageError(f"{path}:{number}:1: the answer is empty", fix)
        found.append(Question(entry["question"], answer))
    if not found:
        raise UsageError(f"{path} holds no question", fix)
    return found


def name_of(path: Path, content: str) -> str:
    """What a measurement says of a file: its name and the hash of what was used of it."""
    return f"{path.name}:{digest(content)}"


def _bytes(path: Path, option: str) -> bytes:
    try:
        return files.read_bytes(path, largest=LARGEST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(f"{path} cannot be read ({reason})", f"name another file with {option}") from None
