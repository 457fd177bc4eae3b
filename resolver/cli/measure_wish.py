"""Which words of `launch.py measure` mean what: tools, contexts, streams, files. Every error names the word and the way out."""

from __future__ import annotations

from pathlib import Path

from resolver.cli.dispatch import shown_word
from resolver.cli.options import Line
from resolver.diagnostics import UsageError, nearest
from resolver.measure.limits import LIMITS
from resolver.measure.session import MODULES, Wish, known_tasks


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
        numbers("contexts", line.get("--contexts")),
        numbers("streams", line.get("--streams")) or (1,),
        one("repeats", line.get("--repeats"), 5),
        one("answer", line.get("--answer"), 256),
        tasks,
        one("seed", line.get("--seed"), 1),
        texts,
        Path(questions) if questions else None,
    )


def paths(given: str | None) -> tuple[Path, ...]:
    """Files that are joined with commas."""
    return tuple(Path(part) for part in given.split(",") if part) if given else ()


def numbers(what: str, given: str | None) -> tuple[int, ...]:
    """Numbers that are joined with commas; 4k is 4000. Each once, in their order."""
    if given is None:
        return ()
    return tuple(dict.fromkeys(_number(what, part.strip()) for part in given.split(",")))


def one(what: str, given: str | None, default: int) -> int:
    """One number; without the option the default."""
    return default if given is None else _number(what, given)


def _number(what: str, text: str) -> int:
    limit = LIMITS[what]
    found = limit.read(text)
    if found is None:
        raise UsageError(
            f"--{what} takes whole numbers from {limit.least} to {limit.most}",
            f"write --{what} {limit.such}, for example",
        )
    return found
