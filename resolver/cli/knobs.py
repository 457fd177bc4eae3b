"""`launch.py knobs`: what a user may set."""

from __future__ import annotations

from typing import Any

from resolver.cli.dispatch import shown_word
from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.compile import open_resolver
from resolver.diagnostics import UsageError, nearest
from resolver.knobs import KnobTable
from resolver.model import Knob
from resolver.request import knob_name
from resolver.views.page import dump, stdout_page

TYPES = {
    "choice": "one of",
    "switch": "0 or 1",
    "zero_one": "0 or 1",
    "int": "whole number",
    "decimal": "number",
    "tokens": "tokens: digits, 64k, 128K, auto",
    "json": "JSON",
    "words": "engine flags",
    "secret": "secret",
    "path": "path",
    "host": "address",
    "text": "text",
    "ignored": "does nothing",
}


def run(line: Line) -> int:
    """Print every knob, or all about one."""
    resolver = open_resolver()
    knobs = list(resolver.rules.knobs.values())
    named = line.words[1:] and line.words[1][0]
    if named:
        knobs = [_named(resolver.table, named)]
    if line.given("--json"):
        put(dump({"schema": 1, "knobs": [_json(knob) for knob in knobs]}))
        return OK
    page = stdout_page()
    if named:
        page.line(knobs[0].env, "bold")
        page.pairs(_all_about(knobs[0]), indent=2)
        return OK
    rows = [(knob.env, _takes(knob), knob.default or knob.default_says or "", knob.help) for knob in knobs]
    page.table(("knob", "takes", "default", "what it does"), rows)
    return OK


def _named(table: KnobTable, word: str) -> Knob:
    name = knob_name(table, word) or knob_name(table, word.upper())
    if name is None:
        near = nearest(word, list(table.by_variable))
        fix = f"did you mean {near}?" if near else "see `launch.py knobs`"
        raise UsageError(f"there is no knob {shown_word(word)}", fix)
    return table.knobs[name]


def _takes(knob: Knob) -> str:
    if knob.allowed:
        return ", ".join(knob.allowed)
    bounds = [f"from {knob.minimum}"] if knob.minimum is not None else []
    bounds += [f"to {knob.maximum}"] if knob.maximum is not None else []
    return " ".join([TYPES.get(knob.type, knob.type), *bounds])


def _all_about(knob: Knob) -> list[tuple[str, str]]:
    rows = [("what it does", knob.help), ("takes", _takes(knob))]
    rows.append(("default", knob.default or knob.default_says or "none"))
    rows.append(("empty means", knob.empty_means or "the default"))
    if knob.explicit_matters:
        rows.append(("given is not default", knob.explicit_matters))
    if knob.secret:
        rows.append(("where", "the environment or a file, never the command line"))
    return [*rows, ("declared at", str(knob.position))]


def _json(knob: Knob) -> dict[str, Any]:
    return {
        "name": knob.name,
        "variable": knob.env,
        "type": knob.type,
        "allowed": list(knob.allowed),
        "minimum": knob.minimum,
        "maximum": knob.maximum,
        "default": knob.default,
        "default_says": knob.default_says,
        "empty_means": knob.empty_means,
        "secret": knob.secret,
        "help": knob.help,
        "position": str(knob.position),
    }
