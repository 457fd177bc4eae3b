"""`launch.py machines`: the machine files, or the facts of one machine; `machines this` probes this one."""

from __future__ import annotations

import os
from typing import Any

from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.compile import product_root
from resolver.compile.helpers import show
from resolver.facts import Machine
from resolver.views.page import dump, stdout_page

THIS = "this"


def run(line: Line) -> int:
    """Print every machine, or all about the one that is named."""
    from resolver.machines import load_machine, names

    root = product_root()
    named = line.words[1:] and line.words[1][0]
    if named == THIS:
        return _this(line)
    machines = [load_machine(root, name) for name in ([named] if named else names(root))]
    if line.given("--json"):
        put(dump({"schema": 1, "machines": [_json(machine) for machine in machines]}))
        return OK
    page = stdout_page()
    if named:
        page.line(machines[0].name, "bold")
        page.pairs([(k, _shown(v)) for k, v in machines[0].facts.items()], indent=2)
        page.pairs([("engine", machines[0].engine or "unknown")], indent=2)
        return OK
    rows = [(m.name, *(_shown(m.facts.get(k)) for k in COLUMNS), m.engine or "unknown") for m in machines]
    page.table(("machine", "GPU", "count", "capability", "MiB", "plugins", "engine"), rows)
    page.line()
    page.line("`launch.py machines this` shows what the probe finds here.", "dim")
    return OK


COLUMNS = ("gpu.name", "gpu.count", "gpu.capability", "gpu.vram_mib", "installed")


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else show(value)


def _json(machine: Machine) -> dict[str, Any]:
    facts = {k: list(v) if isinstance(v, tuple) else v for k, v in machine.facts.items()}
    return {"name": machine.name, "facts": facts, "engine": machine.engine, "source": machine.source}


def _this(line: Line) -> int:
    """What the probe finds, with the reason where it finds nothing and the time that each took."""
    from resolver.serving.probe import findings

    found = findings(product_root(), os.environ)
    if line.given("--json"):
        put(dump({"schema": 1, **found.document(), "why_unknown": found.why}))
        return OK
    rows = []
    for name, value in found.facts.items():
        none = "unknown" if name in found.why else "none"
        shown = none if value is None else _shown(tuple(value) if isinstance(value, list) else value)
        rows.append((name, shown, f"{1000 * found.seconds[name]:.1f} ms", found.why.get(name, "")))
    stdout_page().table(("fact", "value", "took", "why unknown"), rows)
    return OK
