"""Which command do the words mean, and may it have them?"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from resolver.cli.options import Line, read
from resolver.cli.start import OK, put
from resolver.diagnostics import UsageError, nearest

ASKING = ("--profile", "--machine", "--engine", "--env-file")
TALK = ("--quiet", "--verbose", "--help")


class Command(NamedTuple):
    """One command: what it does, the options it has, and whether it takes KNOB=value words and engine flags."""

    name: str
    help: str
    options: tuple[str, ...]
    asks: bool = False


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "launch", "start the server (this is what happens without a command)", (*ASKING, "--apply", *TALK), True
        ),
        Command(
            "serve",
            "start the server, watch it, say when it is really ready, and stop all of it in the end",
            (*ASKING, "--apply", "--switch", "--log", "--timeout", "--once", "--ask", *TALK),
            True,
        ),
        Command(
            "accept",
            "boot a launch, put it to a short battery, and keep whether it is good",
            (*ASKING, "--apply", "--list", "--log", "--timeout", "--json", *TALK),
            True,
        ),
        Command(
            "resolve",
            "print the launch instead of starting it",
            (*ASKING, "--apply", "--format", "--json", "--batch", *TALK),
            True,
        ),
        Command(
            "explain",
            "say where every word comes from, what a flag, knob or rule does here, or why an arm is not taken",
            (*ASKING, "--arm", "--want", "--json", *TALK),
            True,
        ),
        Command(
            "diff",
            "say what differs between two launches: profiles, machines, engines, saved results, or quoted command lines",
            (*ASKING, "--json", *TALK),
            True,
        ),
        Command(
            "pick",
            "rank the launches of this machine for a use: chat, agent, rag or batch",
            ("--use", "--context", "--streams", "--vision", "--prefer", "--machine", "--engine", "--json", *TALK),
        ),
        Command(
            "fit",
            "say whether it fits into memory, what the engine will print, and the largest that fits",
            (*ASKING, "--solve", "--formulas", "--from-log", "--json", *TALK),
            True,
        ),
        Command(
            "doctor",
            "say what would go wrong on this machine, and what mends it",
            ("--profile", "--env-file", "--fix", "--json", *TALK),
            True,
        ),
        Command("profiles", "list the profiles", ("--json", *TALK)),
        Command("knobs", "list the knobs, or explain the one that is named", ("--json", *TALK)),
        Command(
            "arms",
            "list the matrix, cell by cell: which arm, who measured it, what it needs",
            (
                "--ctx",
                "--spec",
                "--backend",
                "--capability",
                "--measured",
                "--unmeasured",
                "--all",
                "--machine",
                "--json",
                *TALK,
            ),
        ),
        Command("matrix", "write the matrix as one page that answers in a browser", ("--html", *TALK), True),
        Command("machines", "list the machine files, or show this machine", ("--json", *TALK)),
        Command("engines", "list the known engines and overlays", ("--json", *TALK)),
        Command(
            "figures",
            "list measurements, each with hardware, engine, date and quality; compare two, or draw speed over context",
            (
                "--arm",
                "--metric",
                "--hardware",
                "--context",
                "--engine",
                "--knob",
                "--find",
                "--stale",
                "--all",
                "--compare",
                "--plot",
                "--ledger",
                "--into",
                "--json",
                *TALK,
            ),
        ),
        Command(
            "measure",
            "measure a running server: speed, prefix reuse, recall, quality, and whether its answers are right",
            (
                *ASKING,
                "--url",
                "--contexts",
                "--streams",
                "--repeats",
                "--answer",
                "--tasks",
                "--seed",
                "--text",
                "--questions",
                "--resume",
                "--ledger",
                "--into",
                "--matrix",
                "--json",
                *TALK,
            ),
            True,
        ),
        Command("completion", "print the completion script of bash, zsh or fish", TALK),
        Command(
            "check",
            "check the rules and run their examples, answer a question about them, or say what another engine breaks",
            (
                "--origins",
                "--engine",
                "--never",
                "--always",
                "--implies",
                "--disjoint",
                "--equivalent",
                "--sarif",
                "--json",
                *TALK,
            ),
        ),
    )
}
NAMING: dict[str, tuple[str, int | None]] = {
    "completion": ("SHELL", 1),
    "diff": ("A B", 2),
    "explain": ("WHAT", 1),
    "knobs": ("KNOB", 1),
    "machines": ("MACHINE", 1),
    "measure": ("TOOL ...", None),
}
"""Commands that are given names: what those are, and how many at most (None: any number)."""


def main(words: Sequence[str]) -> int:
    """Run the command that the words mean; returns the exit status. Raises UsageError and what the command raises."""
    if words[:2] == ["complete", "--"]:
        from resolver.cli.complete import run_words

        return run_words(words[2:])
    if words[:1] == ["explain"]:
        from resolver.cli.explain import prepare

        words = prepare(words)
    if words[:1] == ["figures"]:
        from resolver.cli.figures import prepare as prepare_figures

        words = prepare_figures(words)
    if words[:1] == ["check"]:
        from resolver.cli.check_questions import prepare as prepare_questions

        words = prepare_questions(words)
    line = read(words)
    command = _command(line)
    if line.given("--help"):
        from resolver.cli import help as pages

        put(pages.page(command if line.words or command.name != "launch" else None))
        return OK
    _fits(command, line)
    run = import_module(f"resolver.cli.{command.name}").run
    status: int = run(line)
    return status


def shown_word(word: str) -> str:
    """A stray word as it may be shown: a long one, or one that looks like a key, may be a secret in the wrong place."""
    fine = len(word) <= 24 and word.isascii() and word.isprintable() and not word.startswith(("sk-", "sk_", "hf_"))
    return word if fine else "(a word that is not shown)"


def _command(line: Line) -> Command:
    if not line.words:
        return COMMANDS["launch"]
    word, at = line.words[0]
    if word == "help":
        line.options["--help"] = ""
        line.words.pop(0)
        return _command(line) if line.words else COMMANDS["launch"]
    if word in COMMANDS:
        return COMMANDS[word]
    near = nearest(word, list(COMMANDS))
    shown = shown_word(word)
    if near:
        fix = f"did you mean {near}?"
    elif "-" in word and word.split("-")[0] in ("mtp", "dflash2", "off", "cpu"):
        fix = f"write --profile {shown}, if the profile is meant"
    else:
        fix = f"use one of {', '.join(COMMANDS)}, or give a knob as KNOB=value"
    raise UsageError(f"there is no command {shown} (argument {at})", fix)


def _fits(command: Command, line: Line) -> None:
    for name in line.options:
        if name not in command.options:
            others = [c.name for c in COMMANDS.values() if name in c.options and c.name != "launch"]
            where = f"{name} belongs to `launch.py {others[0]}`" if others else "leave it out"
            raise UsageError(f"`launch.py {command.name}` has no option {name}", where)
    _, most = NAMING.get(command.name, ("", 0))
    spare = [] if most is None else line.words[1 + most :]
    if spare:
        word, at = spare[0]
        raise UsageError(
            f"argument {at} is one word too many for `launch.py {command.name}`: {shown_word(word)}",
            "give a knob as KNOB=value, and flags of the engine after `--`",
        )
    if not command.asks:
        if line.assignments:
            name, _, origin = line.assignments[0]
            raise UsageError(f"`launch.py {command.name}` takes no knobs: {name} ({origin})", "leave it out")
        if line.args is not None:
            raise UsageError(f"`launch.py {command.name}` takes no engine flags", "leave out `--` and what follows")
