"""`launch.py accept --list`: what was accepted on this machine, what failed and why, and what no longer counts."""

from __future__ import annotations

import os

from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put, say_error


def show(line: Line) -> int:
    """Print the list, the newest first; with --profile only the launches of that profile.

    Returns the exit status: 1 where something of the list cannot be read. Raises LaunchError where nothing of it can be.
    """
    from resolver.serving.accept.verdicts import everything, unread

    status, odd = OK, unread(os.environ)
    if odd:
        say_error(odd, "accept these launches again, and remove those entries by hand")
        status = REFUSED
    wanted = line.get("--profile")
    found = [one for one in everything(os.environ)[::-1] if wanted in (None, one.recipe.name)]
    if line.given("--json"):
        from resolver.views.page import dump

        put(dump({"schema": 1, "launches": [one.as_json() for one in found]}))
        return status
    from resolver.compile import product_root
    from resolver.measure.rules_hash import rules_hash
    from resolver.views.page import stdout_page

    page = stdout_page()
    if not found:
        page.line("nothing was accepted here yet: `launch.py accept --profile NAME` boots a launch and asks it")
        return status
    engines = {one.recipe.engine for one in found}
    rules = {engine: rules_hash(product_root(), engine) for engine in engines}
    page.table(
        ("date", "verdict", "profile", "arm", "engine", "launch", ""),
        [
            (
                one.at[:10],
                "accepted" if one.accepted else "failed",
                one.recipe.name,
                one.arm or "",
                one.recipe.engine,
                one.recipe.configuration,
                "; ".join(
                    filter(
                        None,
                        (
                            one.reasons[0]["reason"][:80] if one.reasons else "",
                            _stale(one.rules, rules[one.recipe.engine]),
                        ),
                    )
                ),
            )
            for one in found
        ],
    )
    return status


def _stale(then: str, now: str) -> str:
    return "" if then == now else "the rules have changed since"
