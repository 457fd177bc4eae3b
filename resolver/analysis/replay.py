"""Turn an assignment of cells into a request and a machine, and resolve it: nothing is shown that the real resolver has not done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from resolver.analysis import texts
from resolver.analysis.cells import Cell
from resolver.analysis.finding import Witness
from resolver.analysis.terms import Base
from resolver.analysis.variables import FileCell, FlagCell, KnobCell
from resolver.engine import Engine
from resolver.facts import machine_from
from resolver.knobs import EMPTY, GIVEN, read_text
from resolver.request import build

if TYPE_CHECKING:
    from resolver.analysis.model import Model
    from resolver.resolution import Resolution
    from resolver.resolve import Resolver

Claim = Callable[["Resolution"], bool]
Pick = Callable[[Cell], int]


@dataclass(slots=True)
class Case:
    """One request and machine, as data."""

    knobs: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    args: list[str] = field(default_factory=list)
    engine: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    profile: str | None = None
    machine: str | None = None

    def as_request(self, resolver: Resolver) -> dict[str, Any]:
        """The form that `resolve --batch` takes."""
        out: dict[str, Any] = {}
        if self.profile:
            out["profile"] = self.profile
        names = {resolver.rules.knobs[name].env: text for name, text in self.knobs.items()}
        out |= {key: value for key, value in (("knobs", names), ("env", self.env), ("args", self.args)) if value}
        nested: dict[str, Any] = {}
        for name, value in self.facts.items():
            place = nested
            *path, last = name.split(".")
            for part in path:
                place = place.setdefault(part, {})
            place[last] = list(value) if isinstance(value, tuple) else value
        machine: dict[str, Any] = {"facts": nested}
        if self.files:
            machine["files"] = self.files
        out["machine"] = self.machine or machine
        if self.engine:
            out["engine"] = self.engine
        return out

    def resolve(self, resolver: Resolver) -> Resolution:
        """Resolve it."""
        given = [(name, text, "witness") for name, text in self.knobs.items()]
        request = build(
            resolver.rules,
            resolver.table,
            profile=self.profile,
            assignments=given,
            environ=self.env,
            args=self.args,
        )
        listed = machine_from({"files": self.files}, "witness", "witness", self.facts.get("root", str(resolver.root)))
        return resolver.resolve(request, replace(listed, facts=dict(self.facts)), self.engine)


def make(model: Model, cells: Mapping[int, int], pick: Pick = texts.first, sparse: bool = False) -> Case:
    """A case of the assignment; what it does not name is as in a plain request. `pick` chooses numbers out of ranges.

    `sparse`: facts that the assignment does not name stay unknown, so that the case shows no more than it needs.
    """
    case = Case()
    members: dict[str, list[str]] = {}
    unknown: set[str] = set()
    wanted: list[tuple[Any, FileCell]] = []
    flags: list[tuple[str, FlagCell]] = []
    wishes: dict[str, str] = {}
    engine: Engine = model.engines[0]
    for n, domain in enumerate(model.domains):
        cell, kind = domain.cells[cells.get(n, 0)], domain.key[0]
        if n not in cells and (sparse and kind in ("fact", "known", "member")):
            continue
        if kind == "knob":
            _knob(model, case, domain.key[1], cell, pick)
        elif kind == "fact":
            value = texts.fact(model, domain.key[1], cell, pick)
            if value is not None:
                case.facts[domain.key[1]] = value
        elif kind == "engine":
            engine = cell
        elif kind == "flag":
            flags.append((domain.key[1], cell))
        elif kind == "member" and cell:
            members.setdefault(domain.key[1], []).append(domain.key[2])
        elif kind == "known" and cell:
            unknown.add(domain.key[1])
        elif kind == "free" and n in cells:
            _reading(model, case, domain.key, cell, pick, wishes)
        elif kind == "file" and cell.kind is not None:
            wanted.append((domain.key[1], cell))
    named = {model.domains[n].key[1] for n in cells if model.domains[n].key[0] in ("known", "member")}
    for name, fact in model.rules.facts.items():
        if sparse and name not in named:
            continue
        if fact.type == "set" and not name.startswith("engine.") and name not in unknown:
            case.facts[name] = tuple(members.get(name, ()))
    case.engine = engine.name
    for dest, flag in flags:
        if flag.last is not None and dest in engine.flags:
            case.args += texts.words(engine, dest, flag, pick, wishes.get(dest))
    if wanted:
        _files(model, case, wanted, pick)
    return case


def _knob(model: Model, case: Case, name: str, cell: KnobCell, pick: Pick) -> None:
    knob = model.rules.knobs[name]
    text = "" if cell.state == EMPTY else texts.knob(knob, cell.value, pick) if cell.state == GIVEN else None
    if text is not None:
        (case.env if knob.secret else case.knobs)[knob.env if knob.secret else name] = text


def _reading(model: Model, case: Case, key: Any, cell: Cell, pick: Pick, wishes: dict[str, str]) -> None:
    """A reading of a text: give a text that reads so, to the knob where it is given at all, or as a wish for the flag."""
    if key[1] != "reading" or not isinstance(key[3], Base):
        return
    kind, name = key[3].key[0], key[3].key[1]
    text = texts.read_as(key[2], cell, pick)
    if text is None:
        return
    if kind == "flag":
        wishes[name] = text
    elif kind == "knob" and name in case.knobs and read_text(model.rules.knobs[name], text).state == GIVEN:
        case.knobs[name] = text


def _files(model: Model, case: Case, wanted: list[tuple[Any, FileCell]], pick: Pick) -> None:
    """Paths come from settings, which may depend on files: resolve until they stay the same."""
    asked = {term: {m.base for m in model.file_settings if term in model.terms.of(m.base)} for term, _ in wanted}
    for _ in range(4):
        resolution = case.resolve(model.resolver)
        files = {}
        for term, cell in wanted:
            for setting in sorted(asked[term]):
                path = resolution.setting(setting)
                winning = {t for t, w in model.values(setting)}
                if isinstance(path, str) and path and term in winning and _gives(model, resolution, setting, term):
                    info: dict[str, Any] = {"kind": cell.kind}
                    if (size := texts.value(cell.bytes, pick)) is not None:
                        info["bytes"] = size
                    files[path.removeprefix(f"{model.resolver.root}/")] = info
        if files == case.files:
            return
        case.files = files


def _gives(model: Model, resolution: Resolution, setting: str, term: Any) -> bool:
    """Whether the row that won can give the term."""
    row = resolution.winning_row(setting)
    return row is not None and term in set(model.terms.of_expression(row.value))


def variants(model: Model, cells: Mapping[int, int], node: int, limit: int) -> Iterator[Case]:
    """The case of an assignment, and others in the same set with other numbers and other cells where it leaves them open."""
    yield make(model, cells, sparse=True)
    yield make(model, cells)
    chance = random.Random(5)
    behind = model.inputs(node)
    for _ in range(limit):
        other = dict(cells)
        for n in chance.sample(behind, min(len(behind), chance.randint(0, 4))):
            changed = {**other, n: chance.randrange(len(model.domains[n].cells))}
            if model.space.contains(node, model.whole(changed)):
                other = changed
        yield make(model, other, texts.chooser(chance))


def replay(model: Model, node: int, claim: Claim, shows: str, tries: int = 60) -> Witness | None:
    """A case of the set for which the claim is true when it is really resolved; None when none was found."""
    for cells in model.space.members(node, model.costs, 4):
        for case in variants(model, cells, node, tries if model.rests_on(node) else 4):
            resolution = case.resolve(model.resolver)
            if claim(resolution):
                return Witness(case.as_request(model.resolver), shows)
    return None
