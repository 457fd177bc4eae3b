"""Which page and place of the reference tells of a thing, and a link to it."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from resolver.conditions import Condition, leaves
from resolver.machines import names as machine_names
from resolver.model import Rules
from resolver.resolve import Resolver
from resolver.views.evidence import Evidence
from resolver.views.reference.markdown import code, slug
from resolver.wording import condition_text

FOLDER = "docs/reference"


def stem(file: str) -> str:
    """The name of a file without folder and ending."""
    return PurePosixPath(file).stem


class Links:
    """Links from one page, `page` being its path below docs/reference, to the others."""

    def __init__(self, resolver: Resolver, evidence: Evidence, page: str = "README.md") -> None:
        self.resolver, self.rules, self.evidence = resolver, resolver.rules, evidence
        self.page = page
        self.places: dict[tuple[str, str], str] = _places(resolver, evidence)

    def on(self, page: str) -> Links:
        """The same links, for another page."""
        other: Links = object.__new__(Links)
        other.__dict__ = {**self.__dict__, "page": page}
        return other

    def to(self, kind: str, name: str, shown: str | None = None) -> str:
        """A link to a thing, or its name alone where no page tells of it."""
        text = code(shown or name)
        place = self.places.get((kind, name))
        return f"[{text}]({self.path(place)})" if place else text

    def path(self, place: str) -> str:
        """The way from this page to a place below docs/reference."""
        page, mark, rest = place.partition("#")
        if page == self.page and mark:
            return f"#{rest}"
        here = os.path.dirname(os.path.normpath(f"/{FOLDER}/{self.page}"))
        return os.path.relpath(f"/{FOLDER}/{page}", here) + mark + rest

    def source(self, file: str) -> str:
        """A link to a file of the repository."""
        here = os.path.dirname(os.path.normpath(f"/{FOLDER}/{self.page}"))
        return f"[{code(file)}]({os.path.relpath(f'/{file}', here)})"

    def figures(self, ids: tuple[str, ...]) -> str:
        """Links to figures."""
        return ", ".join(self.to("figure", id) for id in ids)

    def origins(self, numbers: tuple[str, ...]) -> str:
        """The numbered rules of the old launcher."""
        return ", ".join(numbers)

    def condition(self, condition: Condition) -> str:
        """A condition in words, with links to what it reads."""
        read = dict.fromkeys(self.name(leaf.name) for leaf in leaves(condition))
        linked = [link for link in read if link.startswith("[")]
        return code(condition_text(condition)) + (f" ({', '.join(linked)})" if linked else "")

    def name(self, name: str) -> str:
        """A link to the knob or setting that a condition reads."""
        base = name.partition(".")[0]
        knob = self.rules.knobs.get(base)
        if knob:
            return self.to("knob", knob.env)
        return self.to("setting", base) if base in self.rules.settings else code(name)


def subject_page(file: str) -> str:
    """The page of a rule file."""
    return f"rules/{stem(file)}.md"


def _places(resolver: Resolver, evidence: Evidence) -> dict[tuple[str, str], str]:
    rules: Rules = resolver.rules
    out: dict[tuple[str, str], str] = {}
    for profile in rules.profiles:
        out["profile", profile] = f"profiles.md#{slug(profile)}"
    for arm in rules.arms:
        out["arm", arm] = f"arms.md#{slug(arm)}"
    for knob in rules.knobs.values():
        out["knob", knob.env] = f"knobs.md#{slug(knob.env)}"
    for guard in rules.guards.values():
        out["guard", guard.id] = f"{subject_page(guard.position.file)}#{slug(guard.id)}"
    for setting in rules.settings.values():
        if setting.name != "arm":
            out["setting", setting.name] = f"{subject_page(setting.position.file)}#{slug(setting.name)}"
    for name in machine_names(resolver.root):
        out["machine", name] = f"machines.md#{slug(name)}"
    for figure in evidence.figures.values():
        out["figure", figure.id] = f"figures/{stem(figure.position.file).removeprefix('figures-')}.md#{figure.id}"
    return out
