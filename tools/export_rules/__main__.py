"""`python -m tools.export_rules` prints decisions a second, ours and the second engine's, over the recorded runs, and whether they agree.

`python -m tools.export_rules FILE.json` writes the guards as CEL expressions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from resolver.compile import open_resolver
from tools.export_rules.cel import Export
from tools.export_rules.compare import measure


def main(words: list[str]) -> int:
    """Exit status 1 when the two engines do not agree."""
    resolver = open_resolver()
    if words:
        export = Export(resolver.rules, resolver.scope)
        Path(words[0]).write_text(json.dumps(export.guards, indent=1) + "\n", encoding="utf-8")
        print(f"{len(export.guards)} guards written to {words[0]}")
        return 0
    report = measure(resolver)
    print(report.text())
    return 1 if report.different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
