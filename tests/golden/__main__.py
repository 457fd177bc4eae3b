"""`python -m tests.golden [FILE…]`: compare recorded runs with the resolver; exit 1 when any differs. Without a file: the ones in data/."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from resolver.compile import open_resolver
from tests.golden import cases
from tests.golden.compare import compare
from tests.golden.exempt import exempted_by


def main(arguments: list[str]) -> int:
    """Print each differing case and a last line `matched N of M, exempted K`."""
    quiet = "--quiet" in arguments
    files = [Path(a) for a in arguments if a != "--quiet"] or sorted(cases.DATA.glob("*.jsonl.xz"))
    resolver = open_resolver()
    matched = total = 0
    exempted: Counter[str] = Counter()
    added: Counter[str] = Counter()
    for path in files:
        for case in cases.read(path):
            total += 1
            outcome = compare(resolver, case)
            added.update(outcome.added)
            if not outcome.differences:
                matched += 1
                continue
            name = exempted_by(case, outcome.differences)
            if name:
                exempted[name] += 1
                continue
            print(f"{case.id}: differs" + (f" (rests on a guess: {', '.join(case.inferred)})" if case.inferred else ""))
            for line in outcome.differences:
                print(f"  {line}")
    if not quiet:
        for name, count in sorted(exempted.items()):
            print(f"exempted by {name}: {count}")
        for name, count in sorted(added.items()):
            print(f"muted, has no numbered rule: {name}: {count}")
    print(f"matched {matched} of {total}, exempted {sum(exempted.values())}")
    return 0 if matched + sum(exempted.values()) == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
