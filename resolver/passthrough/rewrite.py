"""What vLLM does to the words of a command line before its parser reads them, one by one."""

from __future__ import annotations

import re

_LEVEL = re.compile(r"-O(?!\Z)=?(.+)\Z", re.DOTALL)


def _rewrite(word: str) -> str:
    """vLLM's own word rewriting: `_` for `-` in a flag's name, and the -O forms."""
    if word.startswith("--"):
        head, eq, value = word.partition("=")
        name, dot, rest = head[2:].partition(".")
        return "--" + name.replace("_", "-") + dot + rest + eq + value
    level = _LEVEL.match(word)
    return f"--optimization-level={level.group(1)}" if level else word


def rewritten_words(words: tuple[str, ...]) -> list[str]:
    """All words as vLLM rewrites them; `-O` followed by a level is one flag."""
    out = [_rewrite(word) for word in words]
    for at, word in enumerate(out[:-1]):
        if word == "-O" and words[at + 1] in ("0", "1", "2", "3"):
            out[at] = "--optimization-level"
    return out
