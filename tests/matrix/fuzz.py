"""`python -m tests.matrix.fuzz MINUTES`: the laws, on requests made up until the time is over.

Prints examples a second and what was reached that the saved suite does not reach: rows of settings taken, leaves of conditions
seen true or false, and situations (an arm with the guards that fire there). A law that breaks is made as small as it gets and written to tests/matrix/new.jsonl, as a line for corpus.jsonl;
the run goes on with the other laws. Exit status 1 when one broke. Ctrl-C ends it early, with the same report.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from resolver.conditions import Leaf
from resolver.interpret import leaf_holds
from resolver.resolution import Resolution
from resolver.wording import leaf_text
from tests.check import suite
from tests.check.coverage import measure
from tests.matrix import laws, secrets_planted, strategies
from tests.matrix.asked import Asked, answer, product

NEW = Path(__file__).with_name("new.jsonl")
ROUND = 100
"""Examples of one law before the next one's turn."""
Situation = tuple[str | None, frozenset[str]]


@dataclass
class Reached:
    """What is still to be seen: rows never taken, and (leaf, answer) never seen; and what this run has added."""

    rows: set[tuple[str, int]]
    leaves: dict[tuple[str, str, object], set[bool]]
    named: dict[tuple[str, str, object], Leaf]
    known: set[Situation] = field(default_factory=set)
    new: list[str] = field(default_factory=list)
    situations: int = 0

    @classmethod
    def beyond_the_suite(cls) -> Reached:
        """What recorded runs, examples and pinned decisions do not reach."""
        seen_there: set[Situation] = set()

        def listened() -> Iterator[Resolution]:
            for test in suite.everything(product()):
                seen_there.add(situation(test.resolution))
                yield test.resolution

        known = measure(product(), listened())
        rows = {place for place, seen in known.rows.items() if not seen}
        left: dict[tuple[str, str, object], set[bool]] = {}
        named = {}
        for place, seen in known.leaves.items():
            leaf = known.named[place]
            key = (leaf.name, leaf.op, leaf.operand)
            left.setdefault(key, {True, False}).difference_update(seen)
            named[key] = leaf
        return cls(rows, {key: open_ones for key, open_ones in left.items() if open_ones}, named, seen_there)

    def see(self, r: Resolution) -> None:
        if (here := situation(r)) not in self.known:
            self.known.add(here)
            self.situations += 1
        for name, at in r.resolver.number.items():
            place = (name, r.state.rows[at])
            if place in self.rows:
                self.rows.discard(place)
                self.new.append(f"row {name}[{place[1] + 1}] taken")
        for key, open_ones in list(self.leaves.items()):
            value = leaf_holds(r, self.named[key])
            if value in open_ones:
                open_ones.discard(value)
                self.new.append(f"{leaf_text(self.named[key])} seen {str(value).lower()}")
                if not open_ones:
                    del self.leaves[key]

    def text(self) -> str:
        still = len(self.rows) + sum(map(len, self.leaves.values()))
        lines = [f"  new: {what}" for what in self.new[:40]]
        first = f"beyond the suite: {self.situations} situations, {len(self.new)} rows and answers of leaves ({still} never seen)"
        return "\n".join([first, *lines])


def situation(r: Resolution) -> Situation:
    """The arm, and the guards that fire."""
    return r.setting("arm"), frozenset(guard.id for guard in r.fired)


@dataclass
class Report:
    seconds: float = 0.0
    examples: Counter[str] = field(default_factory=Counter)
    launches: int = 0
    broken: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        total = sum(self.examples.values())
        each = ", ".join(f"{count} {law}" for law, count in sorted(self.examples.items()))
        lines = [
            f"{total} examples in {self.seconds:.0f} s: {total / max(self.seconds, 0.001):.0f} a second ({each})",
            f"{self.launches} of them are launches, the others refusals",
        ]
        return "\n".join([*lines, *(f"BROKEN: law {law}: {line}" for law, line in self.broken.items())])


class Fuzz:
    """Runs the laws in turn. `look` is called with every request that a law is tried on."""

    def __init__(self, reached: Reached | None, save: Path = NEW) -> None:
        self.reached = reached
        self.save = save
        self.report = Report()

    def all_laws(self) -> dict[str, Callable[[Asked], None]]:
        return {**laws.LAWS, "secrets": lambda asked: secrets_planted.hidden(answer(asked))}

    def round(self, law: str, check: Callable[[Asked], None], number: int, until: float) -> None:
        """Some examples of one law; a counterexample is saved once hypothesis has made it small."""
        last: list[Asked] = []

        def one(asked: Asked) -> None:
            if time.monotonic() > until and not last:
                return
            self.report.examples[law] += 1
            r = answer(asked)
            self.report.launches += not r.refused
            if self.reached:
                self.reached.see(r)
            try:
                check(asked)
            except Exception:
                last[:] = [asked]
                raise

        made = secrets_planted.planted() if law == "secrets" else strategies.asked()
        quiet = settings(
            max_examples=ROUND, deadline=None, database=None, phases=[Phase.generate, Phase.target, Phase.shrink],
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False, print_blob=False,
        )  # fmt: skip
        try:
            seed(number)(quiet(given(made)(one)))()
        except Exception:
            line = json.dumps({"why": f"fails {law}", **(json.loads(last[0].as_line()) if last else {})})
            self.report.broken[law] = line
            print(f"law {law} is broken:\n{traceback.format_exc(limit=-3)}", file=sys.stderr, flush=True)
            with self.save.open("a", encoding="ascii") as out:
                out.write(line + "\n")

    def run(self, minutes: float, start: int | None = None) -> Report:
        """Turn after turn until the time is over. `start` seeds the first round; without it each run tries others."""
        began = time.monotonic()
        until = began + 60 * minutes
        number = time.time_ns() % 2**32 if start is None else start
        print(f"seed {number}", flush=True)
        said = began
        try:
            while time.monotonic() < until and len(self.report.broken) < len(self.all_laws()):
                for law, check in self.all_laws().items():
                    if law not in self.report.broken and time.monotonic() < until:
                        self.round(law, check, number, until)
                        number += 1
                if time.monotonic() - said > 30:
                    said = time.monotonic()
                    total = sum(self.report.examples.values())
                    print(f"{said - began:6.0f} s: {total} examples, {len(self.report.broken)} laws broken", flush=True)
        except KeyboardInterrupt:
            print("stopped", flush=True)
        self.report.seconds = time.monotonic() - began
        return self.report


def main(words: list[str]) -> int:
    """MINUTES, and optionally a SEED."""
    try:
        minutes = float(words[0])
        start = int(words[1]) if len(words) > 1 else None
        if not 0 < minutes < 10**6:
            raise ValueError
    except (ValueError, IndexError):
        print("usage: python -m tests.matrix.fuzz MINUTES [SEED]", file=sys.stderr)
        return 2
    fuzz = Fuzz(Reached.beyond_the_suite())
    report = fuzz.run(minutes, start)
    print(report.text())
    if fuzz.reached:
        print(fuzz.reached.text())
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
