"""What would the user type instead? A request with a few things changed, and the command line that makes it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from resolver import request as requests
from resolver.engine import Engine
from resolver.knobs import Given
from resolver.masking import mask, mask_text
from resolver.model import Knob
from resolver.passthrough import split
from resolver.request import Request

if TYPE_CHECKING:
    from resolver.resolve import Resolver

LAUNCHER = ("python", "launch.py")
_DEEP = ("ctx", "spec", "model")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing typed otherwise: a knob by its variable, an engine flag, or the profile. `after` None: not given at all.

    `own`: the user had chosen it (on the command line, in the environment or through the profile).
    """

    kind: str
    name: str
    before: str | None
    after: str | None
    own: bool

    def as_json(self) -> dict[str, Any]:
        """Plain data; texts of secrets are never in it."""
        return {"kind": self.kind, "name": self.name, "before": self.before, "after": self.after, "own": self.own}

    def __str__(self) -> str:
        if self.after is None:
            return f"without {self.name}"
        return f"--profile {self.after}" if self.kind == "profile" else f"{self.name}={self.after}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A request and what was changed in it. `weight` tells equal counts apart: deep changes are heavier."""

    request: Request
    changes: tuple[Change, ...] = ()
    weight: int = 0

    @property
    def own(self) -> int:
        """How many of the user's own choices are gone."""
        return sum(change.own for change in self.changes)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(change.name for change in self.changes)


def layer(given: Given | None) -> str:
    """Where a knob's text came from: argument, environment, profile, file, or nowhere."""
    if given is None:
        return "nowhere"
    word = given.origin.partition(" ")[0]
    return word if word in ("argument", "environment", "profile") else "file"


def shown(knob: Knob, text: str | None) -> str | None:
    """A knob's text as a view may show it."""
    if text is None or knob.secret:
        return None
    return mask_text(text) if knob.type == "words" else text


def set_knob(draft: Draft, knob: Knob, text: str, weight: int = 0) -> Draft:
    """The knob given on the command line."""
    before = draft.request.knobs.get(knob.name)
    knobs = {**draft.request.knobs, knob.name: Given(text, "argument")}
    change = Change(
        "knob", knob.env, shown(knob, before.text if before else None), shown(knob, text), before is not None
    )
    deep = 4 if knob.name in _DEEP else 0
    return Draft(replace(draft.request, knobs=knobs), (*draft.changes, change), draft.weight + weight + deep)


def unset_knob(resolver: Resolver, draft: Draft, knob: Knob) -> Draft | None:
    """The knob no longer given: what lies beneath it counts again. None where no command line can say so."""
    before = draft.request.knobs.get(knob.name)
    if before is None:
        return None
    profile = resolver.rules.profiles.get(draft.request.profile or "")
    beneath = profile.knobs.get(knob.name) if profile else None
    environ: Mapping[str, str] = draft.request.environ
    knobs = dict(draft.request.knobs)
    where = layer(before)
    after = None
    if where in ("profile", "file"):
        if knob.empty != "default":
            return None
        after, knobs[knob.name] = "", Given("", "argument")
    else:
        environ = {k: v for k, v in environ.items() if k != knob.env}
        if beneath is None:
            del knobs[knob.name]
        else:
            assert profile is not None
            after, knobs[knob.name] = beneath, Given(beneath, f"profile {profile.name}, {profile.position}")
    if knobs.get(knob.name) == before:
        return None
    change = Change("knob", knob.env, shown(knob, before.text), after, True)
    deep = 4 if knob.name in _DEEP else 0
    return Draft(
        replace(draft.request, knobs=knobs, environ=environ), (*draft.changes, change), draft.weight + 1 + deep
    )


def with_profile(resolver: Resolver, draft: Draft, name: str | None) -> Draft:
    """Another profile, or none; the other layers stay above it."""
    knobs = {k: g for k, g in draft.request.knobs.items() if layer(g) != "profile"}
    if name is not None:
        profile = resolver.rules.profiles[name]
        below = {k: Given(t, f"profile {name}, {profile.position}") for k, t in profile.knobs.items()}
        knobs = {**below, **knobs}
    problems = tuple(p for p in draft.request.problems if p.rule != "unknown-profile")
    change = Change("profile", "--profile", draft.request.profile, name, True)
    asked = replace(draft.request, knobs=knobs, profile=name, problems=problems)
    return Draft(asked, (*draft.changes, change), draft.weight)


# engine flags


def groups(engine: Engine, words: Sequence[str]) -> list[tuple[str | None, int, int]]:
    """The words as flags with their values: (destination or None, from, to)."""
    out: list[tuple[str | None, int, int]] = []
    at = 0
    while at < len(words):
        word = words[at]
        start, at = at, at + 1
        if not _is_flag(word):
            out.append((None, start, at))
            continue
        dest = destination(engine, word)
        nargs = engine.flags[dest]["nargs"] if dest else "*"
        if "=" in word or nargs == 0:
            most = 0
        else:
            most = 1 if nargs in (None, "?", 1) else len(words)
        while at < len(words) and at - start <= most and not _is_flag(words[at]):
            at += 1
        out.append((dest, start, at))
    return out


def _is_flag(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word))


def destination(engine: Engine, word: str) -> str | None:
    """The destination of a flag as the user may have spelt it: with underscores, shortened, dotted, or with a value."""
    name = word.partition("=")[0].partition(".")[0]
    if name.startswith("--"):
        return engine.destination("--" + name[2:].replace("_", "-"))
    return engine.spellings.get(name)


def drop_flag(engine: Engine, draft: Draft, label: str) -> Draft | None:
    """The request without an engine flag (by destination), or without the word where the engine knows no such flag."""
    asked = draft.request
    args, gone = _without(engine, asked.args, label)
    knobs, environ = dict(asked.knobs), asked.environ
    extra = asked.knobs.get("extra_args")
    if extra is not None and extra.text:
        words = split(extra.text)
        left, more = _without(engine, words, label)
        if more:
            gone = gone or more
            text = join(left)
            if left and (text is None or layer(extra) == "file"):
                return None
            if left:
                knobs["extra_args"] = Given(text or "", "argument")
            elif layer(extra) in ("profile", "file"):
                knobs["extra_args"] = Given("", "argument")
            else:
                del knobs["extra_args"]
                environ = {k: v for k, v in environ.items() if k != "EXTRA_ARGS"}
    if not gone:
        return None
    hidden = mask(gone)
    name, eq, value = hidden[0].partition("=")
    change = Change("flag", name, value if eq else " ".join(hidden[1:]), None, True)
    return Draft(
        replace(asked, args=tuple(args), knobs=knobs, environ=environ), (*draft.changes, change), draft.weight + 1
    )


def labels(engine: Engine, draft: Draft) -> list[str]:
    """What `drop_flag` can take out, each once."""
    extra = draft.request.knobs.get("extra_args")
    found: dict[str, None] = {}
    for words in (draft.request.args, split(extra.text) if extra else ()):
        found |= dict.fromkeys(dest or words[start] for dest, start, _ in groups(engine, words))
    return list(found)


def _without(engine: Engine, words: Sequence[str], label: str) -> tuple[list[str], list[str]]:
    left: list[str] = []
    gone: list[str] = []
    for dest, start, end in groups(engine, words):
        if (dest or words[start]) == label:
            gone = gone or list(words[start:end])
        else:
            left += words[start:end]
    return left, gone


def join(words: Sequence[str]) -> str | None:
    """A text of EXTRA_ARGS that is split into these words again; None when there is none."""
    text = " ".join(w if split(w) == (w,) else shlex.quote(w) for w in words)
    return text if list(split(text)) == list(words) else None


# the command line


def quote(text: str) -> str:
    """A word for a shell. What cannot be printed is written in the $'…' form of bash and zsh."""
    if text.isprintable():
        return shlex.quote(text) if text else ""
    raw = text.encode("utf-8", "surrogateescape")
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in raw) + "'"


def assignments(resolver: Resolver, draft: Draft) -> list[tuple[str, str]]:
    """The knobs to type, by variable: all but those of the profile, secrets, and what only the environment can say."""
    out = []
    for name, given in draft.request.knobs.items():
        knob = resolver.rules.knobs[name]
        if knob.secret or layer(given) == "profile" or (knob.type == "ignored" and layer(given) == "environment"):
            continue
        out.append((knob.env, given.text))
    return out


def unset_variables(resolver: Resolver, start: Request, draft: Draft) -> list[str]:
    """The variables that must not reach the launcher: knobs of the caller's environment that the draft has no more."""
    return [v for v in start.environ if v in resolver.table.by_variable and v not in draft.request.environ]


def words(
    resolver: Resolver, start: Request, draft: Draft, launcher: Sequence[str] = LAUNCHER, options: Sequence[str] = ()
) -> list[str]:
    """The words of the command, unquoted and unmasked. `options` stand behind the launcher: --machine and the like."""
    unset = [word for v in unset_variables(resolver, start, draft) for word in ("-u", v)]
    profile = ["--profile", draft.request.profile] if draft.request.profile else []
    typed = [f"{env}={text}" for env, text in assignments(resolver, draft)]
    args = ["--", *draft.request.args] if draft.request.args else []
    return [*(["env", *unset] if unset else []), *launcher, *profile, *options, *typed, *args]


def command(
    resolver: Resolver, start: Request, draft: Draft, launcher: Sequence[str] = LAUNCHER, options: Sequence[str] = ()
) -> str:
    """The command to type, quoted for the shell; keys among the engine flags are masked."""
    out = []
    typed = dict(assignments(resolver, draft))
    for word in words(resolver, start, replace_args(draft), launcher, options):
        name, eq, text = word.partition("=")
        if eq and name in typed:
            text = mask_text(text) if name == "EXTRA_ARGS" else text
            out.append(f"{name}={quote(text)}")
        else:
            out.append(quote(word) or "''")
    return " ".join(out)


def replace_args(draft: Draft) -> Draft:
    """The draft with keys among its engine flags masked."""
    return replace(draft, request=replace(draft.request, args=tuple(mask(draft.request.args))))


def typed_request(resolver: Resolver, draft: Draft) -> Request:
    """The request that the command makes, read as the command line is read."""
    return requests.build(
        resolver.rules,
        resolver.table,
        profile=draft.request.profile,
        assignments=[(env, text, f"argument {i}") for i, (env, text) in enumerate(assignments(resolver, draft), 1)],
        environ=draft.request.environ,
        args=draft.request.args,
    )
