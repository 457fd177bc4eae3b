"""Which words of `launch.py measure` mean what: tools, contexts, streams, files. Every error names the word and the way out."""

from __future__ import annotations

from pathlib import Path

from resolver.cli.dispatch import shown_word
from resolver.cli.options import Line
from resolver.diagnostics import UsageError, nearest
from resolver.measure.session import MODULES, Wish, known_tasks

LARGEST = 1 << 24


def wish_of(line: Line) -> Wish:
    """What is to be measured. Raises UsageError."""
    tools = []
    for word, at in line.words[1:]:
        if word not in MODULES:
            near = nearest(word, list(MODULES))
            fix = f"did you mean {near}?" if near else f"use some of {', '.join(MODULES)}"
            raise UsageError(f"there is no tool {shown_word(word)} (argument {at})", fix)
        tools.append(word)
    texts, questions = paths(line.get("--text")), line.get("--questions")
    if "perplexity" in tools and not texts:
        raise UsageError("perplexity is measured on a text of yours, and none is given", "name it with --text FILE")
    if "exact-match" in tools and not questions:
        raise UsageError(
            "exact-match asks questions of yours, and none are given", "name a file of JSON lines with --questions FILE"
        )
    tasks = tuple(part.strip() for part in (line.get("--tasks") or "summary").split(","))
    for task in tasks:
        if task not in known_tasks():
            raise UsageError(
                f"--tasks has no task {shown_word(task) or '(empty)'}", f"use some of {','.join(known_tasks())}"
            )
    return Wish(
        tuple(tools),
        numbers("--contexts", line.get("--contexts"), 64),
        numbers("--streams", line.get("--streams"), 1, 512) or (1,),
        one("--repeats", line.get("--repeats"), 5, 1, 1000),
        one("--answer", line.get("--answer"), 256, 8, 65536),
        tasks,
        one("--seed", line.get("--seed"), 1, 0, 1 << 31),
        texts,
        Path(questions) if questions else None,
    )


def paths(given: str | None) -> tuple[Path, ...]:
    """Files that are joined with commas."""
    return tuple(Path(part) for part in given.split(",") if part) if given else ()


def numbers(option: str, given: str | None, least: int, most: int = LARGEST) -> tuple[int, ...]:
    """Numbers that are joined with commas; 4k is 4000. Each once, in their order."""
    if given is None:
        return ()
    return tuple(dict.fromkeys(_number(option, part.strip(), least, most) for part in given.split(",")))


def one(option: str, given: str | None, default: int, least: int, most: int) -> int:
    """One number; without the option the default."""
    return default if given is None else _number(option, given, least, most)


def _number(option: str, text: str, least: int, most: int) -> int:
    digits, factor = (text[:-1], 1000) if text[-1:] in ("k", "K") else (text, 1)
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and least <= int(digits) * factor <= most:
        return int(digits) * factor
    raise UsageError(
        f"{option} takes whole numbers from {least} to {most}",
        f"write {option} {'1k,8k' if least == 64 else least}, for example",
    )
