"""What does a matrix file ask for? Arms, each a profile with knobs, how often each is booted, and what is measured on each boot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolver.diagnostics import Diagnostic, RulesError, nearest
from resolver.masking import mask, mask_text
from resolver.measure.limits import LIMITS
from resolver.measure.session import CHECKS, MODULES, Wish, known_tasks
from resolver.shown import clean
from resolver.yaml12 import Document, read

KEYS = ("arms", "rounds", "tools", "contexts", "streams", "repeats", "answer", "tasks", "seed")
ARM_KEYS = ("profile", "knobs", "args")
USUAL = ("tool-call", "ttft", "prefill", "decode")


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of the comparison: its name, and what is launched."""

    name: str
    profile: str | None
    knobs: Mapping[str, str]
    args: tuple[str, ...]

    def words(self) -> list[str]:
        """What follows `launch.py serve`."""
        found = ["--profile", self.profile] if self.profile else []
        found += [f"{name}={value}" for name, value in self.knobs.items()]
        return [*found, *(["--", *self.args] if self.args else [])]


@dataclass(frozen=True, slots=True)
class Matrix:
    """All of the file. `rounds` is how often each arm is booted; `wish` is what is measured on each boot."""

    arms: tuple[Arm, ...]
    rounds: int
    wish: Wish

    def runs(self) -> Iterator[tuple[int, Arm]]:
        """Yield the boots in their order: A, B, A, B, so that what drifts drifts for all."""
        return ((number, arm) for number in range(1, self.rounds + 1) for arm in self.arms)


def load(path: Path) -> Matrix:
    """Read a matrix file.

    Raises:
        RulesError: it cannot be read, or says something that is not known; with file, line and column.
    """
    document = read(path, str(path))
    data = document.data
    if not isinstance(data, dict):
        raise _error(document, (), "a matrix file is a mapping with `arms`", "see docs/measuring.md")
    _known(document, (), data, KEYS)
    arms = data.get("arms")
    if not isinstance(arms, dict) or len(arms) < 2:
        raise _error(document, ("arms",) if "arms" in data else (), "a comparison needs two arms", "add them to `arms`")
    wish = Wish(
        _tools(document, data),
        _numbers(document, data, "contexts"),
        _numbers(document, data, "streams") or (1,),
        _number(document, data, "repeats", 3),
        _number(document, data, "answer", 256),
        _names(document, data, "tasks", known_tasks()) or ("summary",),
        _number(document, data, "seed", 1),
    )
    return Matrix(
        tuple(_arm(document, str(name), entry) for name, entry in arms.items()),
        _number(document, data, "rounds", 2),
        wish,
    )


def _arm(document: Document, name: str, entry: Any) -> Arm:
    path = ("arms", name)
    if not isinstance(entry, dict):
        raise _error(
            document, path, f"the arm {_shown(name)} is no mapping", "write {profile: NAME, knobs: {KNOB: value}}"
        )
    _known(document, path, entry, ARM_KEYS)
    profile, knobs, args = entry.get("profile"), entry.get("knobs") or {}, entry.get("args") or []
    if profile is not None and not isinstance(profile, str):
        raise _error(document, (*path, "profile"), "a profile is a name", "see `launch.py profiles`")
    if not isinstance(knobs, dict) or not all(isinstance(v, str | int | float) for v in knobs.values()):
        raise _error(document, (*path, "knobs"), "knobs are a mapping of names to values", "write {CTX: long}")
    if not isinstance(args, list) or not all(isinstance(v, str | int | float) for v in args):
        raise _error(document, (*path, "args"), "engine flags are a list of words", 'write ["--seed", "7"]')
    _keyless(document, path, entry)
    texts = {str(key): str(value).lower() if isinstance(value, bool) else str(value) for key, value in knobs.items()}
    return Arm(name, profile, texts, tuple(map(str, args)))


def _tools(document: Document, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The tools; where none of them checks the answers, the tool call does."""
    allowed = tuple(name for name in MODULES if name not in ("perplexity", "exact-match"))
    named = _names(document, data, "tools", allowed) or USUAL
    return named if any(name in CHECKS for name in named) else ("tool-call", *named)


def _names(document: Document, data: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    found = data.get(key, [])
    if not isinstance(found, list):
        raise _error(document, (key,), f"`{key}` is a list", f"write {key}: [{allowed[0]}]")
    for at, name in enumerate(found):
        if name not in allowed:
            near = nearest(name, list(allowed)) if isinstance(name, str) else None
            fix = f"did you mean {near}?" if near else f"use some of {', '.join(allowed)}"
            said = f"has no {_shown(name)} here" if isinstance(name, str) else "takes names"
            raise _error(document, (key, at), f"`{key}` {said}", fix)
    return tuple(found)


def _numbers(document: Document, data: Mapping[str, Any], key: str) -> tuple[int, ...]:
    found = data.get(key, [])
    if not isinstance(found, list):
        raise _error(document, (key,), f"`{key}` is a list of numbers", f"write {key}: [{LIMITS[key].least}]")
    return tuple(dict.fromkeys(_checked(document, (key, at), value) for at, value in enumerate(found)))


def _number(document: Document, data: Mapping[str, Any], key: str, default: int) -> int:
    return _checked(document, (key,), data[key]) if key in data else default


def _checked(document: Document, path: tuple[str | int, ...], value: Any) -> int:
    limit = LIMITS[str(path[0])]
    found = None
    if isinstance(value, str):
        found = limit.read(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        found = limit.within(value)
    if found is None:
        message = f"`{path[0]}` takes whole numbers from {limit.least} to {limit.most}"
        raise _error(document, path, message, f"write {limit.least}, for example")
    return found


def _keyless(document: Document, path: tuple[str | int, ...], entry: Mapping[str, Any]) -> None:
    """Refuse what looks like a key: these words go into the command lines of several processes, which everybody may read."""
    args = [str(word) for word in entry.get("args") or ()]
    shown = mask(args)
    places: list[tuple[str | int, ...]] = [(*path, "args", at) for at, word in enumerate(args) if shown[at] != word]
    for name, value in (entry.get("knobs") or {}).items():
        word = f"{name}={value}"
        if mask([word]) != [word] or mask([str(value)]) != [str(value)] or mask_text(str(value)) != str(value):
            places.append((*path, "knobs", name))
    profile = str(entry.get("profile") or "")
    if mask([profile]) != [profile]:
        places.append((*path, "profile"))
    if mask([str(path[-1])]) != [path[-1]]:
        places.append(path)
    if places:
        message = "a key has no place in a matrix file: its words become command lines, which others can read"
        raise _error(document, places[0], message, "set VLLM_API_KEY, or write the key into api_key.txt")


def _shown(word: object) -> str:
    """A word of the file as it may stand in a message."""
    return clean(" ".join(mask([str(word)])))[:40] if isinstance(word, str | int) else "that is no word"


def _known(document: Document, path: tuple[str, ...], data: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in data:
        if key not in keys:
            near = nearest(str(key), list(keys))
            fix = f"did you mean {near}?" if near else f"use some of {', '.join(keys)}"
            at = document.position((*path, key), key=True)
            raise RulesError([Diagnostic("error", "matrix", f"there is no key {_shown(key)} here", fix, at)])


def _error(document: Document, path: tuple[str | int, ...], message: str, fix: str) -> RulesError:
    return RulesError([Diagnostic("error", "matrix", message, fix, document.position(path))])
