"""Keep secrets out of what is shown: keys among the engine flags, and texts of knobs that are secret or may carry a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from resolver.passthrough import split

_SECRET_WORD = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_NOT_SECRET = re.compile(
    r"tokeni[sz]|tokens\b|-tokens-|per-token|token-(?!\Z)|skip-token|keep-alive|keyfile|ssl-|cache|prompt-tokens|_tokens",
    re.IGNORECASE,
)
HIDDEN = "***"


@lru_cache(maxsize=4096)
def secret_flag(flag: str) -> bool:
    """Whether a flag's value is a key: by its name, so that a misspelt flag counts too."""
    name = flag.replace("_", "-").lower()
    if name.startswith("--api") or name in ("--hf-token", "--hf-t", "--hf-to", "--hf-tok", "--hf-toke"):
        return not name.startswith("--api-server")
    return bool(_SECRET_WORD.search(name)) and not _NOT_SECRET.search(name)


def mask(words: Iterable[str]) -> list[str]:
    """The words with every secret value replaced."""
    out: list[str] = []
    hiding = False
    for word in words:
        if word.startswith("-") and len(word) > 1 and not word[1:2].isdigit():
            name, eq, _ = word.partition("=")
            hiding = secret_flag(name)
            out.append(f"{name}={HIDDEN}" if hiding and eq else word)
            hiding = hiding and not eq
        else:
            out.append(HIDDEN if hiding else word)
    return out


def mask_text(text: str) -> str:
    """The text of EXTRA_ARGS as it may be shown."""
    words = split(text)
    masked = mask(words)
    return text if masked == list(words) else " ".join(masked)


def strip_values(message: str, words: Sequence[str]) -> str:
    """A parser's message without the values of the words it quotes."""
    for word in sorted({w for w in words if "=" in w}, key=len, reverse=True):
        message = message.replace(word, word.partition("=")[0])
    for word, shown in zip(words, mask(words), strict=True):
        if shown == HIDDEN and word:
            message = message.replace(word, HIDDEN)
    return message
