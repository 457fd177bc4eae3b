"""`launch.py profiles`: the names people type."""

from __future__ import annotations

from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.compile import open_resolver
from resolver.views.page import dump, stdout_page


def run(line: Line) -> int:
    """Print every profile with the knobs that it stands for."""
    rules = open_resolver().rules
    named = {
        name: {rules.knobs[knob].env: text for knob, text in profile.knobs.items()}
        for name, profile in rules.profiles.items()
    }
    if line.given("--json"):
        found = [{"name": n, "help": rules.profiles[n].help, "knobs": knobs} for n, knobs in named.items()]
        put(dump({"schema": 1, "profiles": found}))
        return OK
    rows = [(n, " ".join(f"{k}={v}" for k, v in knobs.items()), rules.profiles[n].help) for n, knobs in named.items()]
    stdout_page().table(("profile", "knobs", "what it is for"), rows)
    return OK
