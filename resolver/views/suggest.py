"""Which launches near a refused one are accepted? Found by search, each resolved again exactly as its command would be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resolver.views import suggest_command as written
from resolver.views.fit_note import overfull
from resolver.views.suggest_cost import Cost, cost_of
from resolver.views.suggest_draft import Change, Draft
from resolver.views.suggest_search import BUDGET, MOST_CHANGES, Search

if TYPE_CHECKING:
    from resolver.request import Request
    from resolver.resolution import Resolution

SPARE = 5
"""Accepted launches beyond the asked number that are found before they are ranked."""
WIDER = 24
"""The same where none of them fits into memory."""


@dataclass(frozen=True, eq=False)
class Suggestion:
    """An accepted launch: what changes, the command to type, and what it costs. `resolution` is what that command resolves to."""

    changes: tuple[Change, ...]
    words: tuple[str, ...]
    command: str
    resolution: Resolution
    own: int
    cost: Cost
    fits: bool = True
    """False when `fit` says that it does not, even in the best case."""

    @property
    def arm(self) -> str:
        return str(self.resolution.setting("arm"))

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON, without secrets."""
        return {
            "command": self.command,
            "changes": [change.as_json() for change in self.changes],
            "own_choices_changed": self.own,
            "arm": self.arm,
            "cost": self.cost.as_json(),
            "fits": self.fits,
        }


def suggest(
    resolution: Resolution,
    limit: int = 3,
    launcher: Sequence[str] = written.LAUNCHER,
    options: Sequence[str] = (),
    budget: int = BUDGET,
) -> list[Suggestion]:
    """Up to `limit` accepted launches near a refused one, nearest first; empty when none is near.

    `launcher` and `options` are how the user started it (`python launch.py resolve`, `--machine rtx-4090`): they stand in the command.
    """
    if not resolution.refused or limit < 1:
        return []
    out = _near(resolution, limit + SPARE, budget, launcher, options)
    if out and not any(made.fits for _, made in out):
        out = _near(resolution, limit + WIDER, budget, launcher, options)
    if not any(
        p.rule == "unknown-profile" for p in resolution.request.problems
    ):  # there the spelling tells what was meant
        out.sort(
            key=lambda pair: (not pair[1].fits, pair[0].own, -pair[1].cost.speed, len(pair[0].changes), pair[0].weight)
        )
    fitting = [made for _, made in out if made.fits]
    return (fitting or [made for _, made in out])[:limit]


def _near(
    resolution: Resolution, wanted: int, budget: int, launcher: Sequence[str], options: Sequence[str]
) -> list[tuple[Draft, Suggestion]]:
    search = Search(resolution, budget)
    found = search.run(wanted, MOST_CHANGES) or search.bold(wanted)
    made = [(n.draft, _made(resolution, search.asked, n.draft, launcher, options)) for n in found]
    return [(draft, suggestion) for draft, suggestion in made if suggestion is not None]


def _made(
    start: Resolution, request: Request, draft: Draft, launcher: Sequence[str], options: Sequence[str]
) -> Suggestion | None:
    """The suggestion, read back as the command line would be and resolved; None when that is not accepted."""
    resolver = start.resolver
    asked = written.typed_request(resolver, draft)
    again = resolver.resolve(asked, start.machine, start.engine)
    if again.refused:
        return None
    return Suggestion(
        draft.changes,
        tuple(written.words(resolver, request, draft, launcher, options)),
        written.command(resolver, request, draft, launcher, options),
        again,
        draft.own,
        cost_of(again),
        not overfull(again),
    )
