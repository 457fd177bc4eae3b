"""The answers of one machine, each said once and packed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from resolver.cli import suggesting
from resolver.cli.ask import Answer, choose_engine, make_request
from resolver.cli.options import read
from resolver.diagnostics import Diagnostic
from resolver.facts import Machine
from resolver.machines import load_machine
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from resolver.views import formats
from resolver.views.fit_note import memory_notes
from resolver.views.html.anywhere import Anywhere
from resolver.views.html.record import Item, Recording
from resolver.views.terminal import show_resolution

T = TypeVar("T")
REFUSED = -1
PLAIN = 5
"""Words of a command line that names machine and profile and no knob: its suggestions are searched for."""


@dataclass
class Numbered(Generic[T]):
    """Things by number; the same thing has the same number."""

    numbers: dict[T, int] = field(default_factory=dict)

    def of(self, thing: T) -> int:
        return self.numbers.setdefault(thing, len(self.numbers))

    def __iter__(self) -> Iterator[T]:
        return iter(self.numbers)


@dataclass
class Table:
    """What the page reads of one machine.

    Attributes:
        items: lines and pairs of all answers.
        words: words of all commands.
        commands: each a row of word numbers.
        answers: each the command's number (-1: refused), the arm's number (-1: none), then item numbers.
        index: the number of the answer of each choice, in the order of `Choices.words`.
    """

    items: Numbered[Item] = field(default_factory=Numbered)
    words: Numbered[str] = field(default_factory=Numbered)
    commands: Numbered[tuple[int, ...]] = field(default_factory=Numbered)
    answers: Numbered[tuple[int, ...]] = field(default_factory=Numbered)
    index: list[int] = field(default_factory=list)

    def packed(self) -> str:
        """The table as compressed JSON in base64; a browser unpacks it when the machine is chosen."""
        data: dict[str, Any] = {
            "items": list(self.items),
            "words": list(self.words),
            "commands": list(self.commands),
            "answers": list(self.answers),
            "index": self.index,
        }
        text = json.dumps(data, separators=(",", ":")).encode("ascii")
        return base64.b64encode(zlib.compress(text, 9)).decode("ascii")


def table_of(resolver: Resolver, machine_name: str, lines: Iterable[Sequence[str]], arms: Sequence[str]) -> Table:
    """Resolve every command line for the machine, on an empty environment."""
    machine = load_machine(resolver.root, machine_name)
    number = {arm: i for i, arm in enumerate(arms)}
    bases: dict[str, Resolution] = {}
    table = Table()
    anywhere = Anywhere(resolver.root, suggesting.launcher())
    for words in lines:
        table.index.append(table.answers.of(_answer(resolver, machine, words, bases, table, number, anywhere)))
    return table


def _answer(
    resolver: Resolver,
    machine: Machine,
    words: Sequence[str],
    bases: dict[str, Resolution],
    table: Table,
    number: dict[str, int],
    anywhere: Anywhere,
) -> tuple[int, ...]:
    line = read(words)
    notes: list[Diagnostic] = []
    request = make_request(resolver, line, {}, notes)
    engine = choose_engine(resolver, None, machine, False, notes)
    resolution = resolver.resolve(request, machine, engine)
    profile = line.get("--profile") or ""
    base = bases.setdefault(profile, resolution)
    page = Recording()
    notes += memory_notes(resolution)
    show_resolution(resolution, page, notes=notes, command=False, base=base)
    command = REFUSED
    if not resolution.refused:
        command = table.commands.of(tuple(table.words.of(anywhere(word)) for word in formats.shell_words(resolution)))
    elif len(words) == PLAIN:
        suggesting.show(line, Answer(resolution, tuple(notes), False), page)
    arm = resolution.setting("arm")
    return (
        command,
        number.get(arm, REFUSED),
        *(table.items.of((indent, anywhere(key), anywhere(text))) for indent, key, text in page.items),
    )
