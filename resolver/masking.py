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
_ALWAYS = re.compile(r"secret|passw|credential", re.IGNORECASE)
"""Secret whatever else the name says, as in `--ssl-keyfile-password`."""
HIDDEN = "***"


_KEY = re.compile(r"(sk|hf|pk|ghp|xox[a-z])[-_][A-Za-z0-9_-]{6,}\Z")
"""What keys of well-known services look like, where one stands without its flag."""
_FULL = ("--api-key", "--hf-token")
_FLAG = re.compile(r"--[a-z]|-[a-zO]{1,2}([.=0-9]|\Z)")
_LEFT_OPEN = re.compile(r"""(?<![^"'\\\s{,:])([^"'\\\s{,:]+)[\\"']*\s*:\s*\Z""")
_OPENS = re.compile(r"""("([^"\\]*)"\s*:\s*)[\[{]""")
_LOOSE = re.compile(
    r"""(?<![\w.-])-*([A-Za-z][\w.-]*)[\\"']*\s*:\s*(?!\s|\[|\{|//)(?P<value>[\\"']*[^\\"'].*)""", re.DOTALL
)
"""A name and what follows its colon, where it is not JSON as it should be: a shell ate the quotes, they are single, or quoted once more."""
_HIDDEN = re.compile(r"""[\\"']*\*\*\*(["',}\]\s]|\Z)""")
_HIDDEN_OR_PLAIN = re.compile(rf"{_HIDDEN.pattern}|(-?[0-9.]+|true|false|null)\s*([,}}\]]|\Z)")
_BEARER = re.compile(r"""(\bbearer\s+)(?!\*\*\*)[^\s"'\\]+""", re.IGNORECASE)
_QUOTED = re.compile(r"""["']+-*([A-Za-z][A-Za-z0-9_.-]*)["']*""")
_HEAD = re.compile(r"[\w.+-]*")
_URL = re.compile(r"""(://[^/@\s:"']*:)(?:[^/\s"]|"(?!\s*[,:\]}]))+@|(://)[^/@\s:"']{20,}@""")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
"""What a web page or a word processor makes of the dashes before a flag."""
_IN_JSON = re.compile(r"""("([^"\\]*)"\s*:\s*)"(?:[^"\\]|\\.)*("|\Z)""")


@lru_cache(maxsize=4096)
def secret_flag(flag: str) -> bool:
    """Whether a flag's value is a key: by its name, so that a misspelt or shortened flag counts too."""
    name = flag.replace("_", "-").lower()
    if len(name) > 2 and any(full.startswith(name) for full in _FULL):
        return True
    if name.startswith("--api"):
        return not name.startswith("--api-server")
    return _secret_name(name)


def _secret_name(name: str) -> bool:
    if not _SECRET_WORD.search(name):
        return False
    return bool(_ALWAYS.search(name)) or not _NOT_SECRET.search(name)


def hide_in_json(word: str) -> str:
    """A JSON value with the texts under names such as `api_key` hidden, and passwords in addresses."""
    if "://" in word:
        word = _URL.sub(lambda m: f"{m[1] or m[2]}{HIDDEN}@", word)
    if '"' not in word:
        return word
    for found in _OPENS.finditer(word):
        if _secret_name(found[2].replace("_", "-")):  # a list or a mapping of secrets: nothing behind it is shown
            word = f"{word[: found.end(1)]}{HIDDEN}"
            break
    return _IN_JSON.sub(lambda m: f'{m[1]}"{HIDDEN}"' if _secret_name(m[2].replace("_", "-")) else m[0], word)


def hide_in_word(word: str) -> str:
    """A value as hide_in_json has it, and what follows `api_key:` or `Bearer` hidden; behind a secret without its quotes nothing is shown."""
    word = _BEARER.sub(rf"\1{HIDDEN}", hide_in_json(word))
    at = 0
    while ":" in word and (found := _LOOSE.search(word, at)):
        name, start = found[1].replace("_", "-"), found.start("value")
        harmless = _HIDDEN if _ALWAYS.search(name) else _HIDDEN_OR_PLAIN
        if _secret_name(name) and not harmless.match(word, start):
            return f"{word[:start]}{HIDDEN}"
        at = found.end(1)
    return word


_harmless: set[str] = set()
"""Words that are shown as they are and hide nothing behind them: launches share most of theirs. No secret is ever among them."""
_MOST = 4096


def mask(words: Iterable[str]) -> list[str]:
    """The words with every secret value replaced: all that follows a secret flag, up to the next word that looks like a flag."""
    out: list[str] = []
    hiding = first = False
    for word in words:
        if not hiding and word in _harmless:
            out.append(word)
            continue
        name, eq, value = word.partition("=")
        head = _HEAD.match(name)[0]  # type: ignore[index]  # it matches nothing too
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit() and secret_flag(name.split()[0]):
            # where a secret is expected, what looks like a secret flag may be the secret itself
            shown = head if not first else HIDDEN
            out.append(f"{shown}={HIDDEN}" if eq else f"{shown} {HIDDEN}" if shown != name and not first else shown)
            hiding, first = True, not (value or shown != name)
        elif hiding and (first or not _FLAG.match(word)):
            out.append(HIDDEN)
            first = False
        elif _stray(name):
            shown = HIDDEN if _KEY.match(name) else name  # a key may well have "key" in it
            out.append(f"{shown}={HIDDEN}" if eq else shown)
            hiding, first = not value, False  # a flag that follows is shown, for the name may be no more than a word
        else:
            left = _LEFT_OPEN.search(word)
            hiding = first = left is not None and _secret_name(left[1].replace("_", "-"))
            shown = HIDDEN if _KEY.match(word) else hide_in_word(word)
            out.append(shown)
            if shown == word and not hiding and len(word) < 200 and len(_harmless) < _MOST:
                _harmless.add(word)
    return out


def _stray(name: str) -> bool:
    """Whether a word that is no flag names a key: `VLLM_API_KEY=...` behind `--`, a flag whose dashes were lost, `Bearer`."""
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        return secret_flag(f"--{quoted[1]}")
    plain = name.lstrip(_DASHES)
    if plain != name or name.lower() == "bearer":
        return name.lower() == "bearer" or secret_flag(f"--{plain}")
    return _NAME.fullmatch(name) is not None and _secret_name(name.replace("_", "-").lower())


def mask_text(text: str) -> str:
    """The text of EXTRA_ARGS as it may be shown."""
    words = split(text)
    masked = mask(words)
    return text if masked == list(words) else " ".join(masked)


def strip_values(message: str, words: Sequence[str]) -> str:
    """A parser's message without the keys among the words it quotes."""
    for word, shown in zip(words, mask(words), strict=True):
        if shown == word or not word:
            continue
        hidden = word if shown == HIDDEN else word.partition("=")[2] or word
        for form in sorted({word, hidden, repr(word)[1:-1], repr(hidden)[1:-1]} - {""}, key=len, reverse=True):
            message = message.replace(form, shown if form == word else HIDDEN)
        if any(len(part) > 3 and part in message for part in re.findall(r"\w+", hidden)):
            return "one of the flags that carry a key, or the word behind it (not shown)"
    return message
