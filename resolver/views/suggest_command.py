"""How is a changed request typed? The words of the command, quoted for a shell, and the request that they make when they are read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from resolver import request as requests
from resolver.masking import mask, mask_text
from resolver.request import Request
from resolver.views.suggest_draft import Draft, layer

if TYPE_CHECKING:
    from resolver.resolve import Resolver

LAUNCHER = ("python", "launch.py")


def quote(text: str) -> str:
    """A word for a shell. What cannot be printed is written in the $'…' form of bash and zsh."""
    if text.isprintable():
        return shlex.quote(text) if text else ""
    raw = text.encode("utf-8", "surrogateescape")
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in raw) + "'"


def assignments(resolver: Resolver, draft: Draft) -> list[tuple[str, str]]:
    """The knobs to type, by variable: all but those of the profile, secrets, and what only the environment can say."""
    out = []
    order = list(resolver.rules.knobs)
    first = {"ctx": -2, "spec": -1}
    for name, given in sorted(draft.request.knobs.items(), key=lambda item: first.get(item[0], order.index(item[0]))):
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
