"""The questions of `launch.py check`: --never, --always, --implies A B, --disjoint A B, --equivalent REV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put
from resolver.diagnostics import UsageError
from resolver.resolve import Resolver
from resolver.views.page import Page, dump, stdout_page

ONE, TWO = ("--never", "--always"), ("--implies", "--disjoint")
NAMES = (*ONE, *TWO, "--equivalent")
BETWEEN = "\x1f"


def prepare(words: Sequence[str]) -> list[str]:
    """The words of a command line, in which two rules after --implies or --disjoint stand as one value."""
    out: list[str] = []
    todo = list(words)
    while todo:
        word = todo.pop(0)
        if word == "--":
            return [*out, word, *todo]
        out.append(word)
        if word in TWO:
            if len(todo) < 2 or todo[0].startswith("--") or todo[1].startswith("--"):
                raise UsageError(f"{word} needs two rules", f"write {word} A B")
            out.append(BETWEEN.join((todo.pop(0), todo.pop(0))))
        elif word in ONE and todo:
            out.append(todo.pop(0))
    return out


def asked(line: Line) -> bool:
    """Whether the line asks a question."""
    return any(line.given(name) for name in NAMES)


def run(line: Line, resolver: Resolver) -> int:
    """Answer every question of the line; 1 when one of them is not answered by yes."""
    report: dict[str, Any] = {"schema": 1, "answers": [], "ok": True}
    for name in (*ONE, *TWO):
        if line.given(name):
            from resolver.analysis.questions import ask

            answers = ask(resolver, name.removeprefix("--"), (line.get(name) or "").split(BETWEEN))
            report["answers"] += [answer.as_json() for answer in answers]
            report["ok"] = report["ok"] and answers[-1].holds is True
    if line.given("--equivalent"):
        from resolver.analysis.equivalent import compare
        from resolver.analysis.revision import at

        revision = line.get("--equivalent") or ""
        with at(resolver.root, revision) as old:
            changes = compare(old, resolver)
        report |= {"revision": revision, "changes": [change.as_json() for change in changes]}
        report["ok"] = report["ok"] and not changes
    if line.given("--json"):
        put(dump(report))
    else:
        _show(report, stdout_page(), line.given("--quiet"))
    return OK if report["ok"] else REFUSED


def _show(report: dict[str, Any], page: Page, quiet: bool) -> None:
    for answer in report["answers"]:
        said = {True: "yes", False: "no", None: "not known"}[answer["holds"]]
        page.line(f"{answer['question']}, {answer['scope']}: {said}", "good" if answer["holds"] else "error")
        if answer.get("rests_on"):
            page.line(f"not exact: it rests on {', '.join(answer['rests_on'])}", "dim", indent=2)
        _witness(answer, page, quiet)
    for change in report.get("changes", ()):
        where = f"{change['position']}: " if "position" in change else ""
        page.line(f"{where}{change['kind']}: {change['rule']}: {change['message']}", "error")
        _witness(change, page, quiet)
    if "changes" in report:
        number = len(report["changes"])
        page.line(
            f"{number} change{'s' if number > 1 else ''} since {report['revision']}"
            if number
            else f"no request changes since {report['revision']}"
        )


def _witness(item: dict[str, Any], page: Page, quiet: bool) -> None:
    if "witness" in item and not quiet:
        found = item["witness"]
        page.line(f"witness ({found['shows']}): {json.dumps(found['request'], ensure_ascii=False)}", "dim", indent=2)
