"""Both engines over the recorded runs: the same guards must fire, and each says how many decisions it makes a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tools.export_rules.cel import Export
from tools.export_rules.function import build


@dataclass
class Report:
    """`microseconds`: processor time of one decision of all guards, the best of some rounds."""

    decisions: int = 0
    guards: int = 0
    different: list[str] = field(default_factory=list)
    microseconds: dict[str, float] = field(default_factory=dict)

    def text(self) -> str:
        lines = [
            f"{self.decisions} recorded runs, {self.guards} guards, {len(self.different)} differences",
            *self.different[:20],
        ]
        lines += [f"{name}: {us:.1f} us a decision, {1e6 / us:,.0f} a second" for name, us in self.microseconds.items()]
        return "\n".join(lines)


def recorded(resolver: Resolver, every: int) -> list[tuple[Resolution, tuple[Any, ...]]]:
    """Each n-th recorded run, resolved, with the arguments that the compiled guards got."""
    from tests.golden import cases

    found: list[tuple[Resolution, tuple[Any, ...]]] = []
    seen: list[tuple[Any, ...]] = []
    real = resolver._guards

    def listen(*arguments: Any) -> Any:
        seen.append(arguments)
        return real(*arguments)

    runs = [case for path in sorted(cases.DATA.glob("*.jsonl.xz")) for case in cases.read(path)]
    resolver._guards = listen
    try:
        for case in runs[::every]:
            resolution = resolver.resolve(cases.request(resolver, case), cases.machine(case), cases.ENGINE)
            found.append((resolution, seen[-1]))
    finally:
        resolver._guards = real
    return found


def best(act: Callable[..., Any], calls: Sequence[Iterable[Any]], rounds: int) -> float:
    """Microseconds of processor time a call."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for arguments in calls:
            act(*arguments)
        times.append((time.process_time() - start) / len(calls) * 1e6)
    return min(times)


def measure(resolver: Resolver, every: int = 3, rounds: int = 7) -> Report:
    """Compare and measure. Without the second engine's package only our own numbers are there."""
    runs = recorded(resolver, every)
    calls = [arguments for _, arguments in runs]
    report = Report(len(runs), len(resolver.rules.guards))
    decide = build(resolver.rules, resolver.scope, calls[::10])
    for resolution, arguments in runs:
        if decide(*arguments) != resolution.state.fired:
            report.different.append(f"our own function differs: {decide(*arguments)} {resolution.state.fired}")
    report.microseconds["all guards as one Python function"] = best(decide, calls, rounds)
    report.microseconds["the compiled guards of the resolver"] = best(resolver._guards, calls, rounds)
    try:
        import cel
    except ImportError:
        return report
    export = Export(resolver.rules, resolver.scope)
    program = cel.compile(export.all_guards())
    values = [(export.values(resolution),) for resolution, _ in runs]
    names = list(resolver.rules.guards)
    for (resolution, _), context in zip(runs, values, strict=True):
        theirs = [i for i, holds in enumerate(program.execute(*context)) if holds]
        if theirs != resolution.state.fired:
            apart = {names[i] for i in {*theirs} ^ {*resolution.state.fired}}
            report.different.append(f"CEL differs on {', '.join(sorted(apart))}")
    report.microseconds["CEL (common-expression-language)"] = best(program.execute, values, 1)
    return report
