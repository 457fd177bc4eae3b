"""`launch.py pick`: which launch fits a use on this machine. Asked with nothing on a terminal, it asks the questions."""

from __future__ import annotations

import sys

from resolver.cli import ask as asking
from resolver.cli import suggesting
from resolver.cli.options import Line
from resolver.cli.start import OK, REFUSED, put, say
from resolver.diagnostics import Diagnostic, UsageError, nearest
from resolver.views.pick import PREFERENCES, USES, Wish, pick

SHOWN = 5


def run(line: Line) -> int:
    """Print the ranking; exit status 1 when nothing legal meets the wish."""
    if not any(line.given(name) for name in ("--use", "--context", "--streams", "--vision", "--prefer")):
        questions(line)
    wish = wish_of(line)
    from resolver.compile import open_resolver
    from resolver.request import build

    resolver = open_resolver()
    notes: list[Diagnostic] = []
    request = build(resolver.rules, resolver.table)
    machine, probed = asking.choose_machine(resolver, line, request)
    engine = asking.choose_engine(resolver, line.get("--engine"), machine, probed, notes)
    found = pick(resolver, machine, engine, wish)
    if line.given("--json"):
        from resolver.views.page import dump

        put(
            dump({"schema": 1, "machine": machine.name, "engine": engine.name, "choices": [c.as_json() for c in found]})
        )
        return OK if found else REFUSED
    from resolver.views.page import stdout_page

    page = stdout_page()
    page.line(
        f"{wish.use.name} on {machine.name}: {wish.context} tokens of context, streams: {wish.streams}, by {wish.prefer}",
        "bold",
    )
    page.line(wish.use.says, "dim")
    if not found:
        page.line("no launch of this machine meets that: ask for less context, or see `launch.py arms`")
        return REFUSED
    shown = found if line.given("--verbose") else found[:SHOWN]
    before = None
    for i, choice in enumerate(shown, 1):
        if choice.here != before:
            page.line("measured on this card" if choice.here else "not measured on this card", "bold")
            before = choice.here
        words = " ".join([*suggesting.launcher(), *choice.words, *suggesting.elsewhere(line)])
        page.line(f"{i}. {words}", indent=2)
        page.line(choice.why, "dim", indent=5)
    if len(found) > len(shown):
        page.line(f"and {len(found) - len(shown)} more with --verbose", "dim")
    return OK


def wish_of(line: Line) -> Wish:
    """The wish that the options say. Raises UsageError."""
    name = line.get("--use") or "chat"
    if name not in USES:
        near = nearest(name, list(USES))
        raise UsageError(
            f"there is no use {name!r}", f"did you mean {near}?" if near else f"choose one of {', '.join(USES)}"
        )
    use = USES[name]
    prefer = line.get("--prefer") or use.prefer
    if prefer not in PREFERENCES:
        raise UsageError(f"--prefer {prefer} is unknown", f"choose one of {', '.join(PREFERENCES)}")
    return Wish(
        use,
        _number(line.get("--context"), "--context", use.context),
        _number(line.get("--streams"), "--streams", use.streams),
        line.given("--vision"),
        prefer,
    )


def _number(text: str | None, option: str, otherwise: int) -> int:
    """Tokens or streams: digits, or thousands as 64k. Raises UsageError."""
    if text is None:
        return otherwise
    digits, times = (text[:-1], 1000) if text[-1:] in ("k", "K") else (text, 1)
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9 or not int(digits):
        raise UsageError(f"{option} takes a number, not {text[:20]!r}", f"write {option} 64k or {option} 64000")
    return int(digits) * times


def questions(line: Line) -> None:
    """Ask on a terminal, and put the answers where the options stand. Raises UsageError where nobody can be asked."""
    try:
        asks = sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        asks = False
    if not asks:
        raise UsageError("pick needs to know the use", f"write launch.py pick --use {'|'.join(USES)} --context 64k")
    for use in USES.values():
        say(f"  {use.name:<7}{use.says}\n")
    line.options["--use"] = _asked(f"use ({', '.join(USES)}) [chat]: ", "chat")
    use = USES.get(line.options["--use"], USES["chat"])
    line.options["--context"] = _asked(f"tokens of context [{use.context}]: ", str(use.context))
    line.options["--streams"] = _asked(f"requests at once [{use.streams}]: ", str(use.streams))
    if _asked("images (y or n) [n]: ", "n").lower().startswith("y"):
        line.options["--vision"] = ""
    line.options["--prefer"] = _asked(f"prefer ({', '.join(PREFERENCES)}) [{use.prefer}]: ", use.prefer)


def _asked(question: str, otherwise: str) -> str:
    say(question)
    answer = sys.stdin.readline()
    if not answer:
        raise UsageError("the answers ended", "give every answer, or the options")
    return answer.strip() or otherwise
