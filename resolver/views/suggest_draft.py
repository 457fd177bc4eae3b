"""What would the user ask instead? A request with a few things changed, each counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from resolver.knobs import Given
from resolver.masking import mask_text
from resolver.model import Knob
from resolver.request import Request

if TYPE_CHECKING:
    from resolver.resolve import Resolver

_DEEP = ("ctx", "spec", "model")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing typed otherwise: a knob by its variable, the spelling of a name, an engine flag, or the profile. `after` None: not given at all.

    `own`: how many of the user's choices it gives up, on the command line, in the environment or through the profile.
    """

    kind: str
    name: str
    before: str | None
    after: str | None
    own: int

    def as_json(self) -> dict[str, Any]:
        """Plain data; texts of secrets are never in it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "before": self.before,
            "after": self.after,
            "own_choices": self.own,
        }

    def __str__(self) -> str:
        if self.after is None:
            return f"without {self.name}"
        if self.kind == "spelling":
            return f"{self.after} for {self.name}"
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


def set_knob(draft: Draft, knob: Knob, text: str, weight: int = 0, spelling: bool = False) -> Draft:
    """The knob given on the command line. `spelling`: the text is what the user meant, so that no choice is given up."""
    before = draft.request.knobs.get(knob.name)
    knobs = {**draft.request.knobs, knob.name: Given(text, "argument")}
    change = Change(
        "knob",
        knob.env,
        shown(knob, before.text if before else None),
        shown(knob, text),
        int(before is not None and not spelling),
    )
    deep = 4 if knob.name in _DEEP else 0
    return Draft(replace(draft.request, knobs=knobs), (*draft.changes, change), draft.weight + weight + deep)


def unset_knob(resolver: Resolver, draft: Draft, knob: Knob, weight: int = 1) -> Draft | None:
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
        if knob.empty != "default" and knob.default is None:
            return None
        after = knob.default or ""
        knobs[knob.name] = Given(after, "argument")
    else:
        environ = {k: v for k, v in environ.items() if k != knob.env}
        if beneath is None:
            del knobs[knob.name]
        else:
            assert profile is not None
            after, knobs[knob.name] = beneath, Given(beneath, f"profile {profile.name}, {profile.position}")
    if knobs.get(knob.name) == before:
        return None
    change = Change("knob", knob.env, shown(knob, before.text), after, 1)
    deep = 4 if knob.name in _DEEP else 0
    asked = replace(draft.request, knobs=knobs, environ=environ)
    return Draft(asked, (*draft.changes, change), draft.weight + weight + deep)


def with_profile(resolver: Resolver, draft: Draft, name: str | None, weight: int = 0) -> Draft:
    """Another profile, or none; the other layers stay above it."""
    knobs = {k: g for k, g in draft.request.knobs.items() if layer(g) != "profile"}
    if name is not None:
        profile = resolver.rules.profiles[name]
        below = {k: Given(t, f"profile {name}, {profile.position}") for k, t in profile.knobs.items()}
        knobs = {**below, **knobs}
    problems = tuple(p for p in draft.request.problems if p.rule != "unknown-profile")
    lost = 1
    left = resolver.rules.profiles.get(draft.request.profile or "")
    if left is not None:
        old = left.knobs
        here = {k for k, g in draft.request.knobs.items() if layer(g) == "profile"}
        lost = max(1, sum(k in here and (k not in knobs or knobs[k].text != text) for k, text in old.items()))
    change = Change("profile", "--profile", draft.request.profile, name, lost)
    asked = replace(draft.request, knobs=knobs, profile=name, problems=problems)
    return Draft(asked, (*draft.changes, change), draft.weight + weight)
