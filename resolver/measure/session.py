"""Which tools are run on a server, in which order, and what follows from one for the others? Checks come before speeds.

A speed says nothing of a server whose answers are wrong: where a check is broken, no number of that session is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from resolver.measure import prompts, user_files
from resolver.measure.journal import Journal
from resolver.measure.report import Finding, Report
from resolver.measure.server import Identity, NotMeasurable, Server
from resolver.measure.settings import SpeedOptions

MODULES = {
    "tool-call": "tool_call",
    "residues": "residue_sweep",
    "needle": "needle",
    "perplexity": "perplexity",
    "exact-match": "exact_match",
    "conversations": "conversations",
    "ttft": "ttft",
    "prefill": "prefill",
    "decode": "decode",
}
"""Tool -> module, in the order in which they are run: always the same one, since drafts are accepted by what ran before."""
CHECKS = ("tool-call", "residues", "needle", "perplexity", "exact-match")
"""Tools that say whether the answers are right."""
USUAL = ("tool-call", "needle", "conversations", "ttft", "prefill", "decode")
"""What is run where no tool is named: what needs no file of the user's, and no hour."""
CONTEXTS = (1000, 8000)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be measured.

    Attributes:
        tools: names of MODULES; empty means the usual ones.
        contexts: tokens; empty means the usual ones, as far as the server has room.
        streams, repeats, answer, tasks, seed: see SpeedOptions.
        texts: files for perplexity.
        questions: a file for exact-match.
    """

    tools: tuple[str, ...] = ()
    contexts: tuple[int, ...] = ()
    streams: tuple[int, ...] = (1,)
    repeats: int = 5
    answer: int = 256
    tasks: tuple[str, ...] = ("summary",)
    seed: int = 1
    texts: tuple[Path, ...] = ()
    questions: Path | None = None

    def chosen(self) -> tuple[str, ...]:
        """The tools, in the order in which they are run; files that are given call their tools."""
        named = self.tools or USUAL
        if not self.tools:
            named += (("perplexity",) if self.texts else ()) + (("exact-match",) if self.questions else ())
        return tuple(name for name in MODULES if name in named)


@dataclass(frozen=True, slots=True)
class Session:
    """What came of it."""

    identity: Identity
    reports: tuple[Report, ...]
    interrupted: bool = False

    @property
    def broken(self) -> tuple[str, ...]:
        """The tools that found something wrong."""
        return tuple(report.tool for report in self.reports if report.verdict == "broken")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "schema": 1,
            "server": self.identity.as_json(),
            "interrupted": self.interrupted,
            "reports": [report.as_json() for report in self.reports],
        }


def run(
    server: Server,
    wish: Wish,
    journal: Journal | None = None,
    identity: Identity | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Session:
    """Measure.

    Args:
        server: what is measured.
        wish: what of it.
        journal: keeps the pieces.
        identity: who it is, where it was asked already.
        say: told what the user should know before it happens.

    Raises:
        NotMeasurable: nobody answers there.
        UsageError: a file of the user's cannot be read.
    """
    for path in wish.texts:  # before hours are spent
        user_files.text(path)
    if wish.questions is not None:
        user_files.questions(wish.questions)
    journal = journal or Journal()
    identity = identity or server.identity()
    reports: list[Report] = []
    for tool in wish.chosen():
        if journal.interrupted:
            break
        module = import_module(f"resolver.measure.{MODULES[tool]}")
        if tool == "perplexity":
            for text in module.warnings(server.counters()):
                say(f"{tool}: {text}")
        try:
            reports.append(module.run(server, options_of(tool, wish, identity), journal))
        except NotMeasurable as error:
            reports.append(Report(tool, (), (Finding(tool, "inconclusive", f"{error.message}: {error.fix}"),)))
        except KeyboardInterrupt:
            journal.interrupted = True
    return Session(identity, tuple(judged(reports, journal)), journal.interrupted)


def judged(reports: Sequence[Report], journal: Journal) -> list[Report]:
    """Mark the numbers that are not to be recorded, because a check failed; note where several boots are behind them."""
    wrong = next((r for r in reports if r.tool in CHECKS and r.verdict == "broken"), None)
    found = list(reports)
    if wrong is not None:
        reason = next(finding.reason for finding in wrong.findings if finding.verdict == "broken")
        found = [report.unsound(f"{wrong.tool} is broken: {reason}") for report in found]
    if len(journal.boots) > 1:
        note = f"measured on {len(journal.boots)} boots of the server"
        found = [
            replace(report, measurements=tuple(replace(one, notes=(*one.notes, note)) for one in report.measurements))
            for report in found
        ]
    return found


def options_of(tool: str, wish: Wish, identity: Identity) -> Any:
    """The options of one tool."""
    longest = identity.max_model_len
    if tool == "tool-call":
        return None
    if tool == "residues":
        from resolver.measure.residue_sweep import Options as Sweep

        return Sweep(wish.contexts[0] if wish.contexts else 0, seed=wish.seed, longest=longest)
    if tool == "perplexity":
        from resolver.measure.perplexity import Options as Text

        return Text(wish.texts)
    if tool == "exact-match":
        from resolver.measure.exact_match import Options as Asked

        return Asked(wish.questions)
    contexts = wish.contexts or tuple(
        context for context in CONTEXTS if not longest or context + wish.answer + 64 <= longest
    )
    return SpeedOptions(contexts, wish.streams, wish.repeats, wish.answer, wish.tasks, wish.seed, longest)


def known_tasks() -> tuple[str, ...]:
    """The tasks that decode can be measured on."""
    return tuple(prompts.TASKS)
