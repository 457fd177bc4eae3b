"""A launch was refused: which others are refused for the same reason? Those that agree with it in all that the reason reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from resolver import conditions
from resolver.analysis.cells import NULL, is_one_of
from resolver.analysis.diagram import FULL
from resolver.analysis.terms import SET_KINDS, Fixed
from resolver.analysis.variables import FlagCell
from resolver.conditions import Ref
from resolver.knobs import FREE_TYPES, GIVEN
from resolver.names import row_names
from resolver.views.whynot_reasons import Reason, reasons_of

if TYPE_CHECKING:
    from resolver.analysis.model import Model
    from resolver.resolution import Resolution


class Alike:
    """Around one assignment of the model and the launch that was made of it. `exact` is False once a set may hold launches that are
    not refused: a variable's cell stands for several values, and the launch shows one of them only."""

    def __init__(self, model: Model, cells: dict[int, int], pinned: Iterable[int], tried: Resolution) -> None:
        self.model = model
        self.cells = cells
        self.pinned = set(pinned)
        self.tried = tried
        self.exact = True
        self.seen: dict[str, None] = {}
        self.node = FULL
        self.reason = Reason()

    def reasons(self) -> Iterator[tuple[int, bool]]:
        """For each refusal of the launch, the set of those that it refuses, and whether that is sure."""
        for reason in reasons_of(self.tried):
            self.exact, self.seen, self.node, self.reason = True, {}, FULL, reason
            for name in reason.names:
                self._add(name)
            if reason.guard is not None:
                self._add_condition(reason.guard.when)
                if reason.guard.since or reason.guard.until:
                    self._add("engine.version")
            if reason.engine is not None:
                alike, mine = reason.engine, reason.engine(self.tried.engine)
                same = self.model.engines_with(lambda e: alike(e) == mine)  # noqa: B023 - asked at once
                self.node = self.model.space.both(self.node, same)
            yield self.node, self.exact

    def _inside(self, node: int) -> bool:
        return self.model.space.contains(node, self.model.whole(self.cells))

    # sets

    def _add(self, name: str) -> None:
        if name in self.seen:
            return
        self.seen[name] = None
        meaning = self.model.scope.meaning(name)
        if meaning is None:
            return
        base = meaning.base
        if meaning.kind in ("setting", "file") or (meaning.kind == "reading" and base in self.model.rules.settings):
            self._setting(base)
        if meaning.kind in ("knob", "reading") and base in self.model.rules.knobs:
            self._variable(("knob", base))
            if meaning.kind == "reading" and self.model.rules.knobs[base].type not in FREE_TYPES:
                self.exact = (
                    self.exact and self.model.index.get(("knob", base)) in self.pinned
                )  # texts differ, values do not
        if name.startswith("engine."):
            self._variable(("engine",))
        elif meaning.kind == "fact":
            self._variable(("fact", base))
        elif meaning.kind in ("extra_last", "extra_any"):
            self._variable(("flag", base))
            self.node = self.model.space.both(self.node, self._same_flag(base))
        elif meaning.kind == "choices":
            self._variable(("engine",))
        if meaning.kind == "file":
            for key in list(self.model.index):
                if key[0] == "file" or (key[0] == "free" and key[1] == "content"):
                    self._variable(key)

    def _same_flag(self, dest: str) -> int:
        """The engines that read a flag as this one does."""
        mine = self.tried.engine.flags.get(dest)
        return self.model.engines_with(lambda e: e.flags.get(dest) == mine)

    def _setting(self, name: str) -> None:
        """The requests in which a setting has this value: its own set where the model knows the value, else all that it rests on."""
        model, space = self.model, self.model.space
        value = self.tried.setting(name)
        for term, where in model.values(name):
            if isinstance(term, Fixed) and term.value == value and self._inside(where):
                self.node = space.both(self.node, where)
                return
        won = self.tried.state.rows[self.tried.resolver.number[name]]
        rows = model.rules.settings[name].rows
        for row in rows[: won + 1] if won >= 0 else rows:
            self._add_condition(row.when)
        for inner in row_names(rows[won]) if won >= 0 else ():
            self._add(inner)

    def _add_condition(self, condition: conditions.Condition) -> None:
        for leaf in conditions.leaves(condition):
            if isinstance(leaf.operand, Ref):
                self._add(leaf.operand.name)
            meaning = self.model.scope.meaning(leaf.name)
            if meaning is not None and (meaning.kind in SET_KINDS or leaf.name == "installed"):
                holds = self.model.condition(leaf)
                inside = self._inside(holds)
                self.node = self.model.space.both(self.node, holds if inside else self.model.space.other(holds))
            else:
                self._add(leaf.name)

    def _variable(self, key: tuple[Any, ...]) -> None:
        model = self.model
        n = model.index.get(key)
        if n is None:  # no rule reads it, so that it is in the launch only where it is held
            given = self.tried.request.knobs if key[0] == "knob" else self.tried.passthrough.flags
            self.exact = self.exact and key[0] in ("knob", "flag") and (key[0] == "knob") != (key[1] in given)
            return
        cell = self.cells.get(n, 0)
        self.node = model.space.both(self.node, model.space.cells(n, [cell]))
        pinned = n in self.pinned and key[0] != "engine"
        self.exact = self.exact and (pinned or self._one_value(key, model.domains[n].cells[cell]))

    def _one_value(self, key: tuple[Any, ...], cell: Any) -> bool:
        """Whether the cell stands for one value, and the launch has it."""
        tried = self.tried
        if key[0] == "engine":
            return bool(cell.name == tried.engine.name)
        if key[0] == "knob":
            if cell.state != tried.knob_state(key[1]):
                return False
            return cell.state != GIVEN or (
                cell.value != NULL and is_one_of(cell.value, (tried.readings[key[1]].value,))
            )
        if key[0] == "fact":
            return is_one_of(cell, (tried.facts.get(key[1]),))
        if key[0] == "flag":
            if cell.last is None:
                return key[1] not in tried.passthrough.flags
            same = cell.last != NULL and is_one_of(cell.last, (tried.passthrough.last.get(key[1]),))
            return same or self._alike_flag(key[1], cell)
        return False

    def _alike_flag(self, dest: str, cell: FlagCell) -> bool:
        """Whether the refusal is the same for every value of the cell."""
        info = self.tried.engine.flags.get(dest)
        if cell.last is None or info is None:
            return False
        if not self.reason.parsing:
            return cell.last.shape == "range" and dest in self.reason.alike
        if cell.last == NULL:
            return info["nargs"] is None  # it takes a value and has none
        named = {c.last.value for c in self.model.domains[self.model.index["flag", dest]].cells if c.last is not None}
        listed = bool(info["choices"]) and named.issuperset(info["choices"])
        return cell.last.shape == "other" and (listed or info["type"] == "int")
