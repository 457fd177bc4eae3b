"""Is there a launch that reaches the goal? Asked of the analysis of the rules, which knows of all launches at once.

A launch that it names is resolved before it is believed. That there is none is proven when nothing is left of the set of launches
that reach the goal with what is held, after those have been taken away that a guard refuses, or that are refused for a reason which
reads the same in all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from resolver.analysis import texts
from resolver.analysis.diagram import EMPTY
from resolver.analysis.model import Model
from resolver.analysis.replay import Case, make
from resolver.analysis.terms import Fixed
from resolver.compile.helpers import show
from resolver.conditions import Condition, Leaf
from resolver.expressions import Const
from resolver.facts import machine_from
from resolver.parser_names import PLUGINS
from resolver.request import build
from resolver.views.suggest_flags import groups
from resolver.views.whynot_alike import Alike
from resolver.views.whynot_held import Held
from resolver.views.whynot_points import Assumption, Point, mixed
from resolver.views.whynot_reasons import SERVED, SERVED_BY_PLUGINS

if TYPE_CHECKING:
    from resolver.resolution import Resolution
    from resolver.resolve import Resolver
    from resolver.views.whynot import Goal

TRIES = 150
"""Members of a set that are resolved before it stays undecided."""
OTHERS = 12
"""Launches tried with other numbers, where one rests on arithmetic that the analysis cannot invert."""
LARGEST_SPACE = 1_500_000
"""Nodes of the diagrams after which a model is made anew."""


class Models:
    """One model for each set of rules, kept while the process lives."""

    _kept: tuple[Resolver, Model] | None = None

    @classmethod
    def of(cls, resolver: Resolver) -> Model:
        kept = cls._kept
        if kept is None or kept[0] is not resolver or len(kept[1].space.variable) > LARGEST_SPACE:
            kept = cls._kept = (resolver, Model.of(resolver, list(_told_apart(resolver))))
        return kept[1]


def _told_apart(resolver: Resolver) -> Iterator[Condition]:
    """All values that the engine allows of the flags that decide about attention, so that each is looked at by itself; and other flags
    that refusals outside the rules read."""
    engine = resolver.engine(None)
    sizes = {row.block_size for row in engine.attention or () if row.block_size}
    values: dict[str, tuple[Any, ...]] = {"attention_backend": engine.backends, "block_size": (0, *sorted(sizes))}
    read = [dest for name in (*SERVED, *SERVED_BY_PLUGINS) for _, last, dest in [name.partition("extra.last.")] if last]
    for dest in (*read, *(flag for pair in PLUGINS.items() for flag in pair), "enable_auto_tool_choice"):
        if dest in engine.flags:
            given = values.get(dest) or engine.choices(dest)
            yield Leaf(f"extra.last.{dest}", "is" if given else "unknown", tuple(given) or None, ())


@lru_cache(maxsize=2)
def _spoken(resolver: Resolver) -> Mapping[str, list[tuple[str, ...]]]:
    """What the rules' examples give to the engine's flags, by destination: texts that are good for them, which are hard to make up."""
    rules, engine = resolver.rules, resolver.engine(None)
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for guard in rules.guards.values():
        for example in (*guard.fires, *guard.silent):
            for dest, start, end in groups(engine, example.args):
                if dest is not None:
                    found.setdefault(dest, {})[tuple(example.args[start:end])] = None
    return {dest: list(words) for dest, words in found.items()}


class Prover:
    """Looks for launches that reach one goal; `assumed` is all that may be held of the launch at hand."""

    def __init__(self, resolution: Resolution, goal: Goal, assumed: Sequence[Assumption]) -> None:
        self.resolution = resolution
        self.resolver = resolution.resolver
        self.goal = goal
        self.assumed = assumed
        self.model = Models.of(self.resolver)
        self.held = Held(self.model, resolution, assumed)
        self.wanted = self._goal()
        self.spoken = _spoken(self.resolver)

    def launch(self, fixed: Sequence[Assumption]) -> tuple[Point | None, bool]:
        """A launch that reaches the goal with these held; or None, and whether it is proven that there is none."""
        model, space = self.model, self.model.space
        pins = self.held.pins(fixed)
        node = space.both(self.held.node(fixed, pins), self.wanted)
        proven = True
        for _ in range(TRIES):
            cells = space.cheapest(node, model.costs)
            if cells is None:
                return None, proven
            point = self._point(make(model, cells), fixed)
            tried = self.resolver.resolve(point.request, point.machine, point.engine)
            if self.goal.reached(tried):
                return point, False
            smaller = self._without_refused(node, cells, tried)
            if smaller == node:
                found = self._other_texts(cells, fixed)
                if found is not None:
                    return found, False
                smaller, sure = self._without_alike(node, cells, pins, tried)
                proven = proven and sure
            if smaller == node:
                smaller, proven = space.minus(node, model.around(cells)), False
            node = smaller
        return None, False

    # what is left

    def _without_refused(self, node: int, cells: dict[int, int], tried: Resolution) -> int:
        """Without all that the guards refuse which refuse this launch."""
        model = self.model
        parts = [p for g in tried.fired if g.severity == "refuse" for p in model.guard_parts(g.id)]
        whole = model.whole(cells)
        for part in parts:
            if model.space.contains(part, whole):
                node = model.space.minus(node, part)
        return node

    def _without_alike(
        self, node: int, cells: dict[int, int], pins: Iterable[int], tried: Resolution
    ) -> tuple[int, bool]:
        """Without all that is refused for one of the same reasons; a reason that is sure before one that is not."""
        space = self.model.space
        reasons = list(Alike(self.model, cells, pins, tried).reasons())
        whole = self.model.whole(cells)
        here = [(alike, sure) for alike, sure in reasons if space.contains(alike, whole)]
        for alike, sure in sorted(here, key=lambda reason: not reason[1]):
            return space.minus(node, alike), sure
        return node, True

    # launches

    def _other_texts(self, cells: dict[int, int], fixed: Sequence[Assumption]) -> Point | None:
        """The same with other numbers, where it rests on what cannot be inverted, and with what the rules' examples give to a flag."""
        for case in self._variants(cells):
            point = self._point(case, fixed)
            if self.goal.reached(self.resolver.resolve(point.request, point.machine, point.engine)):
                return point
        return None

    def _variants(self, cells: dict[int, int]) -> Iterator[Case]:
        model, chance = self.model, random.Random(7)
        if model.rests_on(model.around(cells)):
            for _ in range(OTHERS):
                yield make(model, cells, texts.chooser(chance))
        for dest, spoken in self.spoken.items():
            n = model.index.get(("flag", dest))
            cell = model.domains[n].cells[cells.get(n, 0)] if n is not None else None
            if cell is not None and cell.last is not None and cell.last.shape == "other":
                for words in spoken:
                    case = make(model, cells)
                    engine = self.resolver.engine(case.engine)
                    rest = [w for d, a, b in groups(engine, case.args) if d != dest for w in case.args[a:b]]
                    yield replace(case, args=[*rest, *words])

    def _point(self, case: Case, fixed: Sequence[Assumption]) -> Point:
        resolver = self.resolver
        typed = [(name, text, "argument") for name, text in case.knobs.items()]
        asked = build(resolver.rules, resolver.table, assignments=typed, args=case.args)
        root = str(resolver.root)
        machine = replace(machine_from({"files": case.files}, "another", "another", root), facts=dict(case.facts))
        return mixed(self.resolution, fixed, Point(asked, machine, str(case.engine)), self.assumed)

    # the goal

    def _goal(self) -> int:
        """The launches that are what is wanted, refused or not."""
        model = self.model
        if self.goal.arm:
            rows = model.rules.settings["arm"].rows
            wins, _ = model.rows("arm")
            return model.space.union(
                win
                for row, win in zip(rows, wins, strict=True)
                if isinstance(row.value, Const) and row.value.value == self.goal.arm
            )
        assert self.goal.source is not None
        found = [EMPTY]
        for term, where in model.values(self.goal.source):
            if isinstance(term, Fixed):
                found.append(where if show(term.value) == self.goal.value else EMPTY)
            else:
                found += [model.space.both(where, there) for cell, there in model.cells_of(term) if self._fits(cell)]
        return model.space.union(found)

    def _fits(self, cell: Any) -> bool:
        """Whether a value of the cell may be written as the value that is wanted."""
        if cell.shape == "exact" and isinstance(cell.value, str):
            return show(cell.value) == self.goal.value
        if cell.shape == "range" and str(self.goal.value).isdigit():
            return bool(cell.low <= int(str(self.goal.value)) <= cell.high)
        return True
