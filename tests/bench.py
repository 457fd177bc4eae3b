"""How fast is it? `python -m tests.bench` prints each figure beside its goal. Figures are printed, never tested: a busy machine is no failure."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from resolver.compile import open_resolver
from resolver.facts import Machine
from resolver.request import Request
from resolver.serving.probe import probe
from tests.cli import speed
from tests.golden import cases

REPO = Path(__file__).resolve().parents[1]
STEP = 7


def golden_requests() -> list[tuple[Request, Machine]]:
    """Every seventh recorded run, as requests and machines made beforehand."""
    resolver = open_resolver()
    found = [case for path in sorted(cases.DATA.glob("*.xz")) for case in cases.read(path)][::STEP]
    return [(cases.request(resolver, case), cases.machine(case)) for case in found]


def warm(full: bool) -> tuple[float, float]:
    """Median and 90th percentile of seconds for one resolution; with everything that it says and why, if `full`."""
    resolver = open_resolver()
    pairs = golden_requests()
    taken: list[float] = []
    for counted in (False, True):
        for request, machine in pairs:
            began = time.perf_counter()
            answer = resolver.resolve(request, machine, cases.ENGINE)
            assert answer.refused in (True, False)
            if full:
                assert answer.diagnostics is not None
            if counted:
                taken.append(time.perf_counter() - began)
    taken.sort()
    return median(taken), taken[len(taken) * 9 // 10]


def guards_alone() -> float:
    """Median seconds of the compiled settings and guards, without words, rendering or messages."""
    resolver = open_resolver()
    taken = []
    for request, machine in golden_requests():
        answer = resolver.resolve(request, machine, cases.ENGINE)
        state, words = answer.state, answer.passthrough
        given = (state.states, state.values, state.texts, answer.facts, words.last, words.last_text, words.every)
        rest = (words.flags, resolver.look(answer.machine), answer.engine.choices)
        began = time.perf_counter()
        resolver._guards(*given, *rest, answer.shadowed, state.setting_values)
        taken.append(time.perf_counter() - began)
    return median(taken)


def empty_cache(count: int = 5) -> list[float]:
    """Seconds of the first run on a machine: rules are read, checked and compiled."""
    taken = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as place:
            environ = {"LAUNCH_CACHE_DIR": place}
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, str(REPO / "launch.py"), *speed.COLD],
                env={**os.environ, **environ},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            taken.append(time.perf_counter() - began)
    return taken


def line(what: str, figure: str, goal: str = "") -> None:
    print(f"{what:<58} {figure:>24}{f'   goal {goal}' if goal else ''}", flush=True)


def main() -> int:
    """Print every figure."""
    middle, tenth = warm(full=True)
    line("warm resolution with all messages, golden knobs, median", f"{1e6 * middle:.0f} us", "300 us")
    line("  nine of ten below", f"{1e6 * tenth:.0f} us")
    line("warm resolution without messages, median", f"{1e6 * warm(full=False)[0]:.0f} us")
    line("all guards, compiled, median", f"{1e6 * guards_alone():.0f} us")
    print_batch()
    line("bare Python, process, median of 20", f"{1e3 * median(speed.bare_python().wall):.0f} ms")
    cold = speed.cold_start()
    line("cold resolve --machine, filled cache, median of 20", f"{1e3 * median(cold.wall):.0f} ms", "100 ms")
    line("  by the processor, median", f"{1e3 * median(cold.cpu):.0f} ms")
    line("first run, empty cache, best of 5", f"{1e3 * min(empty_cache()):.0f} ms")
    began = time.perf_counter()
    probe(REPO, os.environ)
    line("probe of this machine", f"{1e3 * (time.perf_counter() - began):.0f} ms")
    print_guards()
    print(f"load while measuring: {', '.join(f'{x:.1f}' for x in os.getloadavg())} on {os.cpu_count()} cores")
    return 0


def print_guards() -> None:
    """Decisions of the whole guard set, ours and a second engine's, over every ninth recorded run."""
    from tools.export_rules.compare import measure

    report = measure(open_resolver(), every=9)
    for name, us in report.microseconds.items():
        line(
            f"guards: {name}",
            f"{us:.1f} us, {1e6 / us:,.0f} a second",
            "10 us" if "one Python function" in name else "",
        )
    if report.different:
        line("guards: differences between the engines", str(len(report.different)), "0")


def print_batch() -> None:
    """Requests a second through the command line's own batch, without starting a process: the best of three."""
    rates = [speed.batch_rate() for _ in range(3)]
    line("batch, a mix of ten requests, best of 3", f"{max(r.wall for r in rates):,.0f} a second", "3,000 a second")
    line("  by the processor", f"{max(r.cpu for r in rates):,.0f} a second")


if __name__ == "__main__":
    sys.exit(main())
