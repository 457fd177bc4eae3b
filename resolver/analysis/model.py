"""The rules as sets: every condition, row, guard and setting as a diagram over the variables that it touches."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from resolver import conditions
from resolver.analysis import cells as c
from resolver.analysis import variables as v
from resolver.analysis.diagram import EMPTY, FULL, Space
from resolver.analysis.terms import Base, Terms
from resolver.analysis.values import Parts, Values
from resolver.conditions import All, Condition, Leaf, Not
from resolver.engine import Engine, overlays, versions
from resolver.facts import Machine
from resolver.machines import load_machine, names
from resolver.names import Meaning, row_names

if TYPE_CHECKING:
    from resolver.resolve import Resolver


def known_engines(resolver: Resolver) -> list[Engine]:
    """Every version with every set of overlays that fits it; the default version first."""
    from itertools import chain, combinations

    from resolver.diagnostics import RulesError, UsageError
    from resolver.engine import DEFAULT_VERSION

    fits = {name: _versions_of(resolver, name) for name in overlays(resolver.root)}
    found = []
    for version in sorted(versions(resolver.root), key=lambda name: name != DEFAULT_VERSION):
        names = [name for name, known in fits.items() if known is None or version in known]
        for extra in chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)):
            try:
                found.append(resolver.engine("+".join([version, *extra])))
            except (UsageError, RulesError):
                continue
    return found


def _versions_of(resolver: Resolver, overlay: str) -> list[str] | None:
    """The versions that an overlay names in its `engine: [...]` line; None when the line does not look so."""
    text = (resolver.root / "rules" / "engines" / "overlays" / f"{overlay}.yaml").read_text(encoding="utf-8")
    line = re.search(r"^engine: *\[([^\]]*)\]", text, re.MULTILINE)
    return re.findall(r"[0-9][0-9.]*", line.group(1)) if line else None


class Model(Values):
    """The rules of a resolver. `extra`: conditions that will be asked about besides those of the rules."""

    def __init__(self, resolver: Resolver, extra: Iterable[Condition] = (), beside: Model | None = None) -> None:
        """`beside`: a model of other rules whose sets are to be compared with these; it is made with `paired` and has no sets yet."""
        self.resolver = resolver
        self.rules = resolver.rules
        self.scope = resolver.scope
        self.beside = beside
        self.engines = known_engines(resolver)
        self.terms = Terms(self.rules, self.scope, beside.terms if beside else None)
        self.space = beside.space if beside else Space([])
        self.domains: list[v.Domain] = beside.domains if beside else []
        self.index: dict[v.Key, int] = beside.index if beside else {}
        self._values: dict[str, Parts] = {}
        self._guards: dict[str, tuple[int, ...]] = {}
        self._conditions: dict[Condition, int] = {}
        self._rows: dict[str, tuple[list[int], list[int]]] = {}
        for setting in self.rules.settings.values():
            for row in setting.rows:
                self.terms.cut(row.when)
        for guard in self.rules.guards.values():
            self.terms.cut(guard.when)
        for condition in extra:
            self.terms.cut(condition)

    @classmethod
    def of(cls, resolver: Resolver, extra: Iterable[Condition] = (), beside: Model | None = None) -> Model:
        """A model that is ready to be asked."""
        model = cls(resolver, extra, beside)
        uses = model.terms.uses
        for key in sorted(uses, key=lambda k: (k[0] in ("free", "file"), -uses[k], str(k))):
            model.variable(key)
        return model

    # variables

    def variable(self, key: v.Key) -> int:
        """The number of a variable, made when first asked for."""
        if key not in self.index:
            self.index[key] = len(self.domains)
            domain = self._domain(key)
            self.domains.append(domain)
            self.space.sizes.append(len(domain.cells))
        return self.index[key]

    def _domain(self, key: v.Key) -> v.Domain:
        cuts = self.terms.cuts.get(key, c.Cuts())
        if key[0] == "knob":
            return v.knob_domain(self._defined("knobs", key[1]), cuts)
        if key[0] == "fact":
            return v.fact_domain(self._defined("facts", key[1]), cuts, self.said_of(key[1]))
        if key[0] == "flag":
            return v.flag_domain(key[1], self.engines, cuts, list(self.terms.tested.get(key[1], ())))
        if key[0] == "file":
            return v.file_domain(key, cuts if cuts.borders or cuts.literals else None)
        if key[0] == "engine":
            return v.engine_domain(self.engines)
        if key[0] == "free":
            return v.free_domain(key, self.terms.free[key], cuts)
        return v.two_way(key)

    def said_of(self, fact: str) -> Mapping[str, Any]:
        """What the schema of machine files says of a fact."""
        place: Any = self.machine_schema["properties"]["facts"]
        for word in fact.split("."):
            place = place.get("properties", {}).get(word, {})
        return place  # type: ignore[no-any-return]

    @cached_property
    def machine_schema(self) -> Any:
        path = self.resolver.root / "rules" / "schema" / "machine.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def _defined(self, part: str, name: str) -> Any:
        """A knob or fact, from these rules or from those beside."""
        own: Mapping[str, Any] = getattr(self.rules, part)
        return own[name] if name in own or self.beside is None else getattr(self.beside.rules, part)[name]

    @property
    def costs(self) -> list[list[int]]:
        return [domain.costs for domain in self.domains]

    def set_by_launcher(self, dest: str) -> int:
        """Where the launcher's own argv has a flag of the destination."""
        from resolver.analysis.rendered import set_by_launcher

        return set_by_launcher(self, dest)

    @cached_property
    def universe(self) -> int:
        """What can be: an installed plugin that brings an overlay is seen together with it only."""
        found = FULL
        if "installed" in self.rules.facts:
            for plugin, (overlay, fits) in self.rules.plugin_overlays.items():
                there = self.condition(Leaf("installed", "is", (plugin,), ()))
                without = self.engines_with(lambda e, o=overlay, f=fits: e.version in f and o not in e.overlays)
                found = self.space.minus(found, self.space.both(there, without))
        return found

    # conditions, rows, guards

    def condition(self, condition: Condition) -> int:
        """Where the condition holds."""
        found = self._conditions.get(condition)
        if found is None:
            if isinstance(condition, Leaf):
                found = self.leaf(condition)
            elif isinstance(condition, Not):
                found = self.space.other(self.condition(condition.inner))
            elif isinstance(condition, All):
                found = FULL
                for part in condition.parts:
                    found = self.space.both(found, self.condition(part))
            else:
                found = self.space.union(self.condition(part) for part in condition.parts)
            self._conditions[condition] = found
        return found

    def rows(self, setting: str) -> tuple[list[int], list[int]]:
        """Where each row of a setting wins, and where its own condition holds."""
        if setting not in self._rows:
            wins, holds = [], []
            left = self.universe
            for row in self.rules.settings[setting].rows:
                node = self.space.both(self.universe, self.condition(row.when))
                holds.append(node)
                wins.append(self.space.both(left, node))
                left = self.space.minus(left, node)
            self._rows[setting] = (wins, holds)
        return self._rows[setting]

    def guard_parts(self, name: str) -> tuple[int, ...]:
        """Where the guard fires, in parts: a long list of the user's flags is not joined into one large set."""
        if name not in self._guards:
            guard = self.rules.guards[name]
            nodes = [self.space.both(self.universe, self.window(guard.since, guard.until))]
            for part in guard.when.parts if isinstance(guard.when, All) else (guard.when,):
                ways = [part]
                if isinstance(part, Leaf) and part.name == "extra.shadowed" and part.op == "is":
                    ways = [replace(part, operand=(item,)) for item in part.operand]
                nodes = [self.space.both(node, self.condition(way)) for node in nodes for way in ways]
            self._guards[name] = tuple(dict.fromkeys(n for n in nodes if n != EMPTY))
        return self._guards[name]

    def guard(self, name: str) -> int:
        """Where the guard fires, as one set."""
        return self.space.union(self.guard_parts(name))

    def window(self, since: str | None, until: str | None) -> int:
        """The engines of a version window."""
        tests = [Leaf("engine.version", ">=", since, ())] if since else []
        tests += [Leaf("engine.version", "<", until, ())] if until else []
        return self.condition(All(tuple(tests)))

    @cached_property
    def no_arm(self) -> int:
        """Where no arm is taken."""
        if "arm" not in self.rules.settings:
            return EMPTY
        return self.space.minus(self.universe, self.space.union(self.rows("arm")[0]))

    @cached_property
    def refusals(self) -> dict[str, tuple[int, ...]]:
        """The refusing guards, and `no-arm`, each with where it refuses. Refusals of other code (flags that the engine does not take,
        what nothing reads, backends that do not serve a cache) are not here: what is left may still be refused by them."""
        out = {g.id: self.guard_parts(g.id) for g in self.rules.guards.values() if g.severity == "refuse"}
        return out | ({"no-arm": (self.no_arm,)} if self.no_arm != EMPTY else {})

    def accepted(self, node: int, but: Collection[str] = ()) -> dict[int, int] | None:
        """The plainest member of the set that no guard refuses (those in `but` do not count); None when all are refused."""
        left = [part for name, parts in self.refusals.items() if name not in but for part in parts]
        while (found := self.space.cheapest(node, self.costs)) is not None:
            whole = self.whole(found)
            bad = [part for part in left if self.space.contains(part, whole)]
            if not bad:
                return found
            node = self.space.minus(node, bad[0])
            left.remove(bad[0])
        return None

    def around(self, cells: Mapping[int, int]) -> int:
        """The set of all that agree with the assignment."""
        node = FULL
        for n in sorted(cells, reverse=True):
            node = self.space.both(self.space.cells(n, [cells[n]]), node)
        return node

    def whole(self, assignment: Mapping[int, int]) -> list[int]:
        """A cell for every variable: the plain one where the assignment has none."""
        return [assignment.get(n, 0) for n in range(len(self.domains))]

    # for witnesses

    @cached_property
    def file_settings(self) -> list[Meaning]:
        """The settings whose paths rules look at."""
        names = [n for s in self.rules.settings.values() for row in s.rows for n in row_names(row)]
        names += [n for g in self.rules.guards.values() for n in conditions.names(g.when)]
        found = [m for n in dict.fromkeys(names) if (m := self.scope.meaning(n)) and m.kind == "file"]
        return list({m.base: m for m in found}.values())

    @cached_property
    def shipped(self) -> list[Machine]:
        return [load_machine(self.resolver.root, name) for name in names(self.resolver.root)]

    def shipped_values(self, fact: str) -> list[Any]:
        """What the machines that ship say of a fact."""
        return [m.facts[fact] for m in self.shipped if fact in m.facts]

    def inputs(self, node: int) -> list[int]:
        """The variables that may move a free value of the set, or that the set tests."""
        found = set(self.space.support(node))
        todo = list(self.rests_on(node))
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            meaning = self.scope.meaning(name)
            if name in seen or meaning is None:
                continue
            seen.add(name)
            if meaning.base in self.rules.settings:
                todo += [n for row in self.rules.settings[meaning.base].rows for n in row_names(row)]
            key = {"knob": "knob", "fact": "fact", "extra_last": "flag", "reading": "knob"}.get(meaning.kind)
            if (key, meaning.base) in self.index:
                found.add(self.index[key, meaning.base])
        return sorted(n for n in found if self.domains[n].key[0] not in ("free", "atom"))

    def rests_on(self, node: int) -> tuple[str, ...]:
        """The free values and undecided comparisons on which the set depends, by the names behind them."""
        found: dict[str, None] = {}
        for n in self.space.support(node):
            found.update(dict.fromkeys(self.behind(self.domains[n].key)))
        return tuple(sorted(found))

    def behind(self, key: v.Key) -> tuple[str, ...]:
        """The names behind a free value or an undecided comparison; nothing for other variables."""
        if key[0] == "free":
            return self.terms.behind[key]
        if key[0] == "atom":
            return tuple(n for t in key[2:] if isinstance(t, Base) for n in (self.behind(t.key) or (str(t.key[1]),)))
        return ()


__all__ = ["Model", "known_engines"]
