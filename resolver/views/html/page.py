"""Put the page together: one file with its style, its program and its data, which asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resolver.machines import load_machine
from resolver.resolve import Resolver
from resolver.views import figures as figure_view
from resolver.views.evidence import Evidence, load_evidence
from resolver.views.html.choices import Choices
from resolver.yaml12 import read

HERE = Path(__file__).resolve().parent


def page(resolver: Resolver, choices: Choices, tables: Mapping[str, str], launcher: str) -> str:
    """The page. `tables` are packed tables by machine, `launcher` the words that start launch.py in the shown command lines."""
    style = (HERE / "page.css").read_text(encoding="utf-8")
    program = (HERE / "page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(program)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    data = json.dumps(_data(resolver, choices, launcher), separators=(",", ":")).replace("<", "\\u003c")
    blocks = "\n".join(
        f'<script type="text/plain" id="machine-{number}">{tables[name]}</script>'
        for number, name in enumerate(choices.machines)
    )
    out = (HERE / "page.html").read_text(encoding="utf-8")
    for name, text in (("POLICY", html.escape(policy)), ("STYLE", style), ("DATA", data), ("TABLES", blocks)):
        out = out.replace(f"@{name}@", text)
    return out.replace("@PROGRAM@", program)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _data(resolver: Resolver, choices: Choices, launcher: str) -> dict[str, Any]:
    """What the page needs besides the answers: what there is to choose, and the arms with their figures."""
    rules, evidence = resolver.rules, load_evidence(resolver.root)
    return {
        "launcher": launcher,
        "machines": [{"name": name, "title": _title(resolver, name)} for name in choices.machines],
        "profiles": [
            {"name": name, "help": rules.profiles[name].help, "knobs": dict(rules.profiles[name].knobs)}
            for name in choices.profiles
        ],
        "knobs": [
            {"name": knob.variable, "help": knob.help, "default": knob.default, "values": knob.values}
            for knob in choices.knobs
        ],
        "arms": [
            {"name": arm.name, "help": arm.help, "figures": _figures(evidence, arm.figures)}
            for arm in rules.arms.values()
        ],
        "head": figure_view.HEAD,
    }


def _title(resolver: Resolver, name: str) -> str:
    path = resolver.root / "rules" / "machines" / f"{name}.yaml"
    title = read(path, path.name).data.get("machine", {}).get("title")
    return str(title or load_machine(resolver.root, name).facts.get("gpu.name") or name)


def _figures(evidence: Evidence, ids: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(row) for row in figure_view.rows(evidence, [evidence.figures[id] for id in ids])]
