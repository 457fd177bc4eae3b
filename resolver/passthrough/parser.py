"""The engine's own parser over its flag table: argparse, which vLLM's parser is built on, and what vLLM does to the words before it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

from resolver.engine import Engine
from resolver.passthrough import types
from resolver.passthrough.fits import misfit
from resolver.passthrough.rewrite import rewritten_words


class Refused(Exception):
    """The parser's own words on why it does not take the flags."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


class _Record(argparse.Action):
    """Keeps each use of a flag, in order, in the namespace's `seen`."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        kind, negatives = self.const
        if kind in ("help", "version"):
            raise Refused("the engine would print its help instead of serving")
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
                raise Refused(f"{word} needs a value")
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


def parse(engine: Engine, words: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Each use of a flag in order, as its destination and its value or values. Raises Refused."""
    for word in words:
        try:
            bad = b"\0" in os.fsencode(word)
        except UnicodeEncodeError:
            bad = True
        if bad:
            raise Refused("a word that no command line can carry: it holds a NUL byte, or is not valid text")
    if any(w == "--model" or w.startswith("--model=") for w in words):
        raise Refused("--model cannot stand beside the model that the launch names; set MODEL instead")
    if any(w == "--" or w.endswith("=--") for w in words):
        raise Refused("`--` stands for the end of all flags; the engine takes nothing after it")
    space = argparse.Namespace(seen=[])
    rewritten: list[str] = []
    for before, after in zip(words, rewritten_words(words), strict=True):
        rewritten += after.split("=", 1) if before.startswith("-O") else [after]  # -O3 is two words from here on
    _, rest = _parser(engine).parse_known_args(_gather_dotted(rewritten), space)
    if rest:
        flag = rest[0].partition("=")[0]
        # a word that is no flag is not repeated: it may be a key that lost its flag
        raise Refused(f"unrecognized flag: {flag}" if flag.startswith("-") else "a word that belongs to no flag")
    seen: list[tuple[str, Any]] = space.seen
    return seen
