"""Read passed-through words with the engine's own flag table, by the parser that vLLM's is built on (argparse)."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from resolver.engine import Engine
from resolver.passthrough import types
from resolver.passthrough.fits import misfit

_LEVEL = re.compile(r"-O(?!\Z)=?(.+)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passthrough:
    """What the words say. By destination: the last value (an int where the flag is one, on/off for a switch), its text, all values.

    `problem`: why the engine's parser would not take the words, or None.
    """

    words: tuple[str, ...] = field(default=(), repr=False)
    last: Mapping[str, Any] = field(default_factory=dict, repr=False)
    last_text: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    every: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, repr=False)
    flags: frozenset[str] = frozenset()
    problem: str | None = None


NOTHING = Passthrough()


class _Refused(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


class _Record(argparse.Action):
    """Keeps each use of a flag, in order, in the namespace's `seen`."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        kind, negatives = self.const
        if kind in ("help", "version"):
            raise _Refused("the engine would print its help instead of serving")
        if values is self.const:
            values = "on"  # an optional value that was left out
        elif self.nargs == 0:
            values = "off" if option_string in negatives else "on"
        namespace.seen.append((self.dest, values))


def _typed(engine: Engine, dest: str, info: Mapping[str, Any]) -> Any:
    convert = types.converter(info["type"])
    choices = info["choices"]
    schema = engine.configs.get(dest) if (info["type"] or "").endswith("dataclass") else None

    def read(text: str) -> str:
        try:
            value = convert(text)
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(f"{text!r} is not a value of this flag ({info['type']})") from None
        if choices is not None and value is not None and value not in choices and str(value) not in map(str, choices):
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(map(str, choices))}")
        if schema is not None and isinstance(value, dict) and (problem := misfit(schema, value)) is not None:
            raise argparse.ArgumentTypeError(f"does not fit {info['spellings'][0]}: {problem}")
        return text

    return read


@lru_cache(maxsize=8)
def _parser(engine: Engine) -> _Parser:
    parser = _Parser(prog="vllm serve", add_help=False)
    for dest, info in engine.flags.items():
        spellings = [*info["spellings"], *info["negative"]]
        if not spellings:
            continue
        takes_value = info["nargs"] != 0
        parser.add_argument(
            *spellings,
            dest=dest,
            action=_Record,
            nargs=info["nargs"],
            default=argparse.SUPPRESS,
            const=(info["kind"], tuple(info["negative"])),
            **({"type": _typed(engine, dest, info)} if takes_value else {}),
        )
    return parser


def _rewrite(word: str) -> str:
    """vLLM's own word rewriting: `_` for `-` in a flag's name, and the -O forms."""
    if word.startswith("--"):
        head, eq, value = word.partition("=")
        name, dot, rest = head[2:].partition(".")
        return "--" + name.replace("_", "-") + dot + rest + eq + value
    level = _LEVEL.match(word)
    return f"--optimization-level={level.group(1)}" if level else word


def _rewritten(words: tuple[str, ...]) -> list[str]:
    """All words as vLLM rewrites them; `-O` followed by a level is one flag."""
    out = [_rewrite(word) for word in words]
    for at, word in enumerate(out[:-1]):
        if word == "-O" and words[at + 1] in ("0", "1", "2", "3"):
            out[at] = "--optimization-level"
    return out


def _gather_dotted(words: list[str]) -> list[str]:
    """`--flag.key value` words become `--flag {"key": value}` at the end, merged by the head's spelling."""
    plain: list[str] = []
    merged: dict[str, dict[str, Any]] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, eq, value = word.partition("=")
        if not word.startswith("-") or "." not in name:
            plain.append(word)
            continue
        if not eq:
            if at == len(words):
                raise _Refused(f"{word} needs a value")
            value = words[at]
            at += 1
        listed = name.endswith("+")
        head, *path = name.removesuffix("+").split(".")
        found: Any = value.split(",") if listed else _dotted_value(value)
        for key in reversed(path):
            found = {key: found}
        _merge(merged.setdefault(head, {}), found)
    for head, data in merged.items():
        plain += [head, json.dumps(data)]
    return plain


def _merge(place: dict[str, Any], more: dict[str, Any]) -> None:
    """Add `more` as vLLM does: mappings deeply, lists appended, all else replaced."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(place.get(key), dict):
            _merge(place[key], value)
        elif isinstance(value, list) and isinstance(place.get(key), list):
            place[key] = place[key] + value
        else:
            place[key] = value


def _dotted_value(text: str) -> Any:
    for convert in (types.json_value, types.human_int):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def _parse(engine: Engine, words: tuple[str, ...]) -> list[tuple[str, Any]]:
    for word in words:
        try:
            bad = b"\0" in os.fsencode(word)
        except UnicodeEncodeError:
            bad = True
        if bad:
            raise _Refused("a word that no command line can carry: it holds a NUL byte, or is not valid text")
    if any(w == "--model" or w.startswith("--model=") for w in words):
        raise _Refused("--model cannot stand beside the model that the launch names; set MODEL instead")
    if any(w == "--" or w.endswith("=--") for w in words):
        raise _Refused("`--` stands for the end of all flags; the engine takes nothing after it")
    space = argparse.Namespace(seen=[])
    rewritten: list[str] = []
    for before, after in zip(words, _rewritten(words), strict=True):
        rewritten += after.split("=", 1) if before.startswith("-O") else [after]  # -O3 is two words from here on
    _, rest = _parser(engine).parse_known_args(_gather_dotted(rewritten), space)
    if rest:
        flag = rest[0].partition("=")[0]
        # a word that is no flag is not repeated: it may be a key that lost its flag
        raise _Refused(f"unrecognized flag: {flag}" if flag.startswith("-") else "a word that belongs to no flag")
    seen: list[tuple[str, Any]] = space.seen
    return seen


def _value(engine: Engine, dest: str, value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(value)
    if isinstance(value, str) and engine.is_int(dest) and value.isascii() and len(value) <= 18:
        if value.isdigit():
            return int(value)
        if "human_int" in engine.flags[dest]["type"]:
            return types.sized_int(value) or value
    return value


def _lenient(engine: Engine, words: tuple[str, ...]) -> list[tuple[str, Any]]:
    """When the parser refuses: what can still be read, flag by flag, so that the other rules can speak."""
    seen: list[tuple[str, Any]] = []
    for at, word in enumerate(_rewritten(words)):
        name, eq, value = word.partition("=")
        dest = engine.spellings.get(name) or (
            engine.destination(name) if name.startswith("--") and len(name) > 2 else None
        )
        if dest is None:
            continue
        info = engine.flags[dest]
        if info["nargs"] == 0:
            seen.append((dest, "off" if name in info["negative"] else "on"))
        elif eq:
            seen.append((dest, value))
        elif at + 1 < len(words) and not words[at + 1].startswith("--"):
            seen.append((dest, words[at + 1]))
        else:
            seen.append((dest, None))
    return seen


@lru_cache(maxsize=4096)
def read_words(engine: Engine, words: tuple[str, ...]) -> Passthrough:
    """Read the words. Never raises; words that the engine would refuse are read as far as they go, with `problem` set."""
    if not words:
        return NOTHING
    problem = None
    try:
        seen = _parse(engine, words)
    except _Refused as refused:
        from resolver.masking import strip_values

        problem = strip_values(str(refused), words)
        seen = _lenient(engine, words)
    every: dict[str, list[Any]] = {}
    for dest, value in seen:
        every.setdefault(dest, []).append(_value(engine, dest, value))
    last = {dest: values[-1] for dest, values in every.items()}
    texts = {dest: " ".join(v) if isinstance(v, list) else v for dest, v in seen}
    return Passthrough(words, last, texts, {d: tuple(v) for d, v in every.items()}, frozenset(every), problem)
