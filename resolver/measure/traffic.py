"""Was this client alone, and does the server count what it sent? Its counters are of everybody's requests together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from resolver.measure.metrics import Counters
from resolver.measure.report import Finding
from resolver.measure.server import Server
from resolver.measure.stream import Answer

SETTLE, LOOK = 3.0, 0.05  # seconds that the counters may lag behind the answers, and between two looks


@dataclass(frozen=True, slots=True)
class Window:
    """What the counters did while some requests were answered.

    Attributes:
        moved: our name of a counter -> how far it moved.
        foreign: why the counters do not fit our own requests; empty where they do.
        known: whether the server has the counters, and they move.
        steps, tokens: forward passes of the decode, and the tokens that came of them; 0 where nothing was drafted.
        drafted_per_step: drafts proposed in a step that drafted.
        width: drafts that the speculator proposes at most.
    """

    moved: dict[str, float]
    foreign: str = ""
    known: bool = True
    steps: int = 0
    tokens: int = 0
    drafted_per_step: float = 0.0
    width: int = 0

    @property
    def tokens_per_step(self) -> float | None:
        """Tokens of one forward pass of one stream, by the engine's own counters; None where nothing was drafted."""
        return self.tokens / self.steps if self.steps else None


def watch(server: Server, ask: Callable[[], Sequence[Answer]]) -> tuple[list[Answer], Window]:
    """Ask, with a look at the counters before and after. Returns the answers and what the counters did."""
    before = _quiet(server)
    answers = list(ask())
    whole = [answer for answer in answers if not answer.problem]
    prompt, made = sum(answer.prompt_tokens or 0 for answer in whole), sum(answer.tokens or 0 for answer in whole)
    until = time.monotonic() + SETTLE
    while True:
        after = server.counters()
        moved = after.since(before)
        late = moved.get("generated", made) < made or moved.get("finished", len(whole)) < len(whole)
        if not late or time.monotonic() > until:
            break
        time.sleep(LOOK)
    return answers, _judge(before, after, moved, len(answers), len(whole), prompt, made)


def _quiet(server: Server) -> Counters:
    """Look at the counters; requests that still run get a moment, for the last one of ours may still be counted as running."""
    until = time.monotonic() + SETTLE
    while (found := server.counters()).busy and time.monotonic() < until:
        time.sleep(LOOK)
    return found


def _judge(
    before: Counters, after: Counters, moved: dict[str, float], asked: int, whole: int, prompt: int, made: int
) -> Window:
    if not (before.there and after.there):
        return Window(moved, "the server has no counters, so whether it was ours alone is not known", known=False)
    if whole and not any(moved[name] for name in ("prompt_tokens", "generated", "finished")):
        return Window(
            moved, "the server's counters do not move, so whether it was ours alone is not known", known=False
        )
    foreign = ""
    if before.boot != after.boot:
        foreign = "the server was started again meanwhile"
    elif before.busy:
        foreign = f"{before.busy} requests of others were running before the first of ours"
    elif whole == asked:  # an answer of ours that broke off leaves counts that nobody can assign
        for name, own, what in (
            ("finished", asked, "requests"),
            ("prompt_tokens", prompt, "prompt tokens"),
            ("generated", made, "generated tokens"),
        ):
            if round(moved[name]) != own:
                foreign = f"the server counted {moved[name]:.0f} {what}, and ours were {own}"
                foreign += ": others used it, or its usage is wrong"
                break
    drafts = round(moved.get("drafts", 0))
    drafting = drafts + round(moved.get("accepted", 0))
    alone = max(
        0, made - whole - drafting
    )  # steps without drafts, one token each; a request's first token is the prefill's
    return Window(
        moved,
        foreign,
        True,
        drafts + alone if drafts else 0,
        drafting + alone if drafts else 0,
        moved.get("drafted", 0.0) / drafts if drafts else 0.0,
        after.width,
    )


def finding(windows: Sequence[dict[str, Any]]) -> Finding:
    """Say whether the server was this client's alone, from kept windows ({"foreign": ..., "known": ...})."""
    wrong = [window for window in windows if window["foreign"]]
    if not windows:
        return Finding("traffic", "inconclusive", "nothing was asked")
    if wrong:
        return Finding(
            "traffic", "inconclusive", wrong[0]["foreign"], {"windows": len(windows), "disturbed": len(wrong)}
        )
    return Finding("traffic", "clean", "the server counted our requests and no others", {"windows": len(windows)})
