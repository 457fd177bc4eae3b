"""The search for accepted launches near a refused one.

It grows drafts: one refusal of the draft is picked, and every change of a knob or engine flag behind it that makes that
refusal go away gives a new draft. Drafts are taken in the order of the user's own choices that they give up, then of their
changes. The work is bounded by a number of resolutions, not by time, so that the answer is always the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from resolver.diagnostics import nearest
from resolver.views import suggest_draft as drafts
from resolver.views import suggest_flags as flags_of
from resolver.views import suggest_reach as reach
from resolver.views.suggest_draft import Change, Draft
from resolver.views.suggest_numbers import computed

if TYPE_CHECKING:
    from resolver.resolution import Resolution

MOST_CHANGES = 3
BUDGET = 420
"""Resolutions of one search."""
DEEPEST_NUMBERS = 1
"""Changes after which numbers are no longer computed: each takes up to some twenty resolutions."""
FIXED = ("engine_venv",)
"""The knob that chooses the engine: a suggestion is for the engine at hand."""


@dataclass(slots=True)
class Node:
    draft: Draft
    resolution: Resolution
    refusals: list[reach.Refusal]


class Search:
    def __init__(self, start: Resolution, budget: int) -> None:
        self.start = start
        caller = start.request.caller
        self.asked = start.request if caller is None else replace(start.request, environ=caller, caller=None)
        self.resolver = start.resolver
        self.rules = start.rules
        self.left = budget
        self.heap: list[tuple[int, int, int, int, int, Node]] = []
        self.stalled: list[tuple[int, int, int, int, int, Node]] = []
        self.seen: set[Any] = set()
        self.number = 0

    # the loop

    def run(self, wanted: int, most: int) -> list[Node]:
        """Accepted nodes at most that many changes away, in order of distance."""
        for draft in self._roots():
            self._push(draft, self.heap)
        return self.grow(wanted, most)

    def grow(self, wanted: int, most: int) -> list[Node]:
        """Take drafts off the heap and change them further."""
        found: list[Node] = []
        launches: set[Any] = set()
        while self.heap or (self.stalled and not found):
            if not self.heap:
                self.heap, self.stalled = self.stalled, []
            *_, node = heapq.heappop(self.heap)
            if any(set(done.draft.changes) <= set(node.draft.changes) for done in found):
                continue
            if not node.refusals:
                launch = _launch(node.resolution)
                if launch not in launches:
                    launches.add(launch)
                    found.append(node)
                if len(found) >= wanted:
                    break
            elif len(node.draft.changes) < most and self.left > 0:
                self._expand(node, most)
        return found

    def _expand(self, node: Node, most: int) -> None:
        bad = sum(r.key.startswith("bad ") for r in node.refusals)
        if bad > most - len(node.draft.changes):
            return
        refusal = node.refusals[0]
        for draft in self._edits(node, refusal):
            if len(draft.changes) <= most and self.left > 0:
                self._push(draft, self.heap, refusal)

    def _push(self, draft: Draft, heap: list[Any], cure: reach.Refusal | None = None) -> None:
        key = (
            frozenset((k, g.text) for k, g in draft.request.knobs.items()),
            draft.request.args,
            draft.request.profile,
            draft.request.problems,
            tuple(v for v in draft.request.environ if v in self.resolver.table.by_variable),
        )
        if key in self.seen:
            return
        self.seen.add(key)
        self.left -= 1
        resolution = self.resolver.resolve(draft.request, self.start.machine, self.start.engine)
        refusals = reach.refusals(resolution)
        if cure is not None and any(r.key == cure.key and r.distance >= cure.distance for r in refusals):
            heap = self.stalled
        self.number += 1
        entry = (draft.own, len(draft.changes), draft.weight, len(refusals), self.number)
        heapq.heappush(heap, (*entry, Node(draft, resolution, refusals)))

    # what can be changed

    def _roots(self) -> Iterator[Draft]:
        """The request itself, its misspelt names corrected or dropped: those are no knobs, so no refusal leads to them."""
        asked = self.asked
        out = [
            Draft(replace(asked, problems=tuple(p for p in asked.problems if p.rule == "unknown-profile"), unknown=()))
        ]
        for word, text, _ in asked.unknown:
            ways = []
            near = nearest(word, list(self.resolver.table.by_variable))
            knob = self.resolver.table.by_variable[near] if near else None
            for draft in out:
                if knob is not None and not knob.secret and knob.name not in asked.knobs:
                    made = drafts.set_knob(draft, knob, text)
                    ways.append(replace(made, changes=(*draft.changes, Change("spelling", word, None, knob.env, 0))))
                ways.append(
                    replace(
                        draft, changes=(*draft.changes, Change("knob", word, None, None, 1)), weight=draft.weight + 2
                    )
                )
            out = ways[:8]
        if any(p.rule == "secret-on-the-command-line" for p in asked.problems):
            gone = Change("knob", "the key on the command line", None, None, 1)
            out = [replace(d, changes=(*d.changes, gone)) for d in out]
        if any(p.rule == "unknown-profile" for p in asked.problems):
            out = [drafts.with_profile(self.resolver, d, p, i) for d in out for i, p in enumerate(self._profiles())]
        yield from out

    def _profiles(self) -> list[str]:
        import difflib

        asked, names = self.start.request.profile or "", list(self.rules.profiles)
        near = difflib.get_close_matches(asked.lower(), names, n=len(names), cutoff=0.0)
        return [*near, *(name for name in names if name not in near)]

    def _edits(self, node: Node, refusal: reach.Refusal) -> Iterator[Draft]:
        draft, engine = node.draft, self.start.engine
        for i, way in enumerate(refusal.ways):
            made: Draft | None = draft
            for name, text in way.items():
                made = made and self._change(node, made, name, text, i)
            if made is not None and made is not draft:
                yield made
        guard = self.rules.guards.get(refusal.key)
        if guard is not None and len(draft.changes) <= DEEPEST_NUMBERS:
            for name, text in computed(node.resolution, guard):
                if (number := self._change(node, draft, name, text)) is not None and number is not draft:
                    yield number
        knobs, flags = reach.behind(node.resolution, refusal.names)
        for name in knobs:
            knob = self.rules.knobs[name]
            if knob.env in draft.names or name in FIXED:
                continue
            given = draft.request.knobs.get(name)
            bad = refusal.key.startswith("bad ")
            values = reach.values(self.rules, knob, given.text if given else None, bad)
            meant = [text for text in values if bad and given and reach.spelling(knob, given.text, text)]
            yield from (drafts.set_knob(draft, knob, text, spelling=True) for text in meant)
            unset = drafts.unset_knob(self.resolver, draft, knob)
            if unset is not None:
                yield unset
            if knob.never_suggested:  # what is there can be left unsaid, and not invented
                continue
            for i, text in enumerate(values):
                if (
                    text not in meant
                    and (other := self._change(node, draft, name, text, 2 + min(i, 2) // 2)) is not None
                ):
                    yield other
        if "ctx" in knobs and draft.request.profile and "--profile" not in draft.names:
            for name, profile in self.rules.profiles.items():
                invents = any(self.rules.knobs[knob].never_suggested for knob in profile.knobs)
                if name != draft.request.profile and not invents:
                    yield drafts.with_profile(self.resolver, draft, name, 3)
        if flags or refusal.flags:
            for label in flags_of.labels(engine, draft):
                made = flags_of.drop_flag(engine, draft, label)
                if made is not None:
                    yield made

    def _change(self, node: Node, draft: Draft, name: str, text: str | None, weight: int = 0) -> Draft | None:
        knob = self.rules.knobs[name]
        if knob.env in draft.names:
            return None
        if text is None or text == "unset":
            return drafts.unset_knob(self.resolver, draft, knob, weight)
        if reach.same(node.resolution, knob, text):
            return draft
        return drafts.set_knob(draft, knob, text, weight)

    def bold(self, wanted: int) -> list[Node]:
        """Where three changes are too few: all that cannot be used goes at once, then all engine flags, then all but the profile."""
        for root in self._roots():
            for draft in self._simpler(root):
                self.heap, self.stalled, self.seen = [], [], set()
                self.left = BUDGET // 4
                self._push(draft, self.heap)
                found = self.grow(wanted, len(draft.changes) + MOST_CHANGES)
                if found:
                    return [self._restored(node) for node in found]
        return []

    def _restored(self, node: Node) -> Node:
        """The node with every knob given back that need not have gone."""
        draft, kept = node.draft, node
        for change in draft.changes:
            knob = self.resolver.table.by_variable.get(change.name) if change.kind == "knob" else None
            given = self.asked.knobs.get(knob.name) if knob else None
            if knob is None or given is None or drafts.layer(given) == "profile":
                continue
            environ = dict(draft.request.environ)
            if knob.env in self.asked.environ:
                environ[knob.env] = self.asked.environ[knob.env]
            asked = replace(draft.request, knobs={**draft.request.knobs, knob.name: given}, environ=environ)
            resolution = self.resolver.resolve(asked, self.start.machine, self.start.engine)
            if not resolution.refused:
                draft = Draft(asked, tuple(c for c in draft.changes if c is not change), draft.weight)
                kept = Node(draft, resolution, [])
        return kept

    def _simpler(self, draft: Draft) -> Iterator[Draft]:
        knobs = self.rules.knobs
        for name, reading in self.start.readings.items():
            if reading.problem:
                draft = drafts.unset_knob(self.resolver, draft, knobs[name]) or draft
        yield draft
        for label in flags_of.labels(self.start.engine, draft):
            draft = flags_of.drop_flag(self.start.engine, draft, label) or draft
        yield draft
        for name, given in draft.request.knobs.items():
            if drafts.layer(given) != "profile" and knobs[name].type not in ("secret", "ignored") and name not in FIXED:
                draft = drafts.unset_knob(self.resolver, draft, knobs[name]) or draft
        yield draft


def _launch(resolution: Resolution) -> tuple[Any, ...]:
    """What two drafts have in common that start the same engine."""
    rendered = resolution.rendered
    return tuple(resolution.argv), tuple(rendered.set_variables.items()), rendered.unset_variables
