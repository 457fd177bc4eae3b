"""Edits that a user makes to profiles.yaml, as functions of its text: sensible ones, and slips of the hand.

To have another edit tried, write it here and name it in `HARMLESS` (no answer may change) or in `ANY`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Edit = Callable[[str, random.Random], str]
_ENTRY = re.compile(r"^  ([a-z][a-z0-9-]*):", re.MULTILINE)
SLIPS = [
    "\t",
    "  ",
    "- ",
    ": ",
    "'",
    '"',
    "{",
    "}",
    "[",
    "&a ",
    "*a",
    "!!int ",
    "#",
    "é",
    "\u2028",
    "\u0000",
    "? ",
    "<<: ",
    "%",
    "|",
    "~",
]


def blocks(text: str) -> list[tuple[str, int, int]]:
    """Each profile and arm: its name, and where its lines start and end."""
    found = [(m[1], m.start()) for m in _ENTRY.finditer(text)]
    ends = [start for _, start in found[1:]] + [len(text)]
    cut = text.find("\narms:")
    return [
        (name, start, cut + 1 if start < cut < end else end) for (name, start), end in zip(found, ends, strict=True)
    ]


def _some(text: str, chance: random.Random, arms: bool) -> tuple[str, int, int]:
    cut = text.find("\narms:")
    return chance.choice([b for b in blocks(text) if (b[1] > cut) == arms] or [("", len(text), len(text))])


def _new(text: str, name: str, chance: random.Random) -> str:
    """A name that the text does not have, whatever was added before from the same seed."""
    while (made := f"{name}-{chance.randrange(10**6)}") in text:
        pass
    return made


def copy_arm_below(text: str, chance: random.Random) -> str:
    """The same arm again under another name, below the first: the first is still the one that is taken."""
    name, start, end = _some(text, chance, arms=True)
    if not name:
        return text
    new = text[start:end].replace(f"  {name}:", f"  {_new(text, name, chance)}:", 1)
    return text[:end] + ("" if text[:end].endswith("\n") else "\n") + new + text[end:]


def add_profile(text: str, chance: random.Random) -> str:
    """One more profile."""
    knobs = chance.choice(["ctx: fast", "ctx: long, spec: mtp", 'spec: "off"', "max_seqs: 2"])
    line = f"  {_new(text, 'mine', chance)}: {{help: mine, knobs: {{{knobs}}}}}\n"
    return text.replace("profiles:\n", "profiles:\n" + line, 1)


def add_comment(text: str, chance: random.Random) -> str:
    """A comment line between two lines."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines) + 1)
    return "".join([*lines[:at], "# a note: {of, mine}\n", *lines[at:]]) if not text or text.endswith("\n") else text


def carriage_returns(text: str, chance: random.Random) -> str:
    """Saved by an editor of another system."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def remove_block(text: str, chance: random.Random) -> str:
    """A profile or an arm is gone."""
    _, start, end = _some(text, chance, arms=chance.random() < 0.7)
    return text[:start] + text[end:]


def swap_arms(text: str, chance: random.Random) -> str:
    """Two arms that stand below each other change places."""
    arms = [b for b in blocks(text) if b[1] > text.find("\narms:")]
    if len(arms) < 2:
        return text
    at = chance.randrange(len(arms) - 1)
    (_, a, b), (_, _, c) = arms[at], arms[at + 1]
    return text[:a] + text[b:c] + text[a:b] + text[c:]


def another_word(text: str, chance: random.Random) -> str:
    """One word of the file is put in the place of another."""
    words = list(re.finditer(r"[A-Za-z0-9_.-]+", text))
    if not words:
        return text
    to, by = (
        chance.choice(words),
        chance.choice([w[0] for w in words] + ["", "None", "8.7", "-1", "1e9", "off", "x" * 300]),
    )
    return text[: to.start()] + by + text[to.end() :]


def slip(text: str, chance: random.Random) -> str:
    """A key pressed by mistake, or one too few."""
    at = chance.randrange(len(text) + 1)
    return text[:at] + (chance.choice(SLIPS) if chance.random() < 0.7 else "") + text[at + (chance.random() < 0.5) :]


def line_lost_or_doubled(text: str, chance: random.Random) -> str:
    """A line is deleted, doubled, or moved in or out by a space."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at = chance.randrange(len(lines))
    line = lines[at]
    lines[at : at + 1] = chance.choice([[], [line, line], [" " + line], [line[1:]], [line.rstrip("\n")]])
    return "".join(lines)


def cut_off(text: str, chance: random.Random) -> str:
    """The disk was full."""
    return text[: chance.randrange(len(text) + 1)]


HARMLESS: list[Edit] = [copy_arm_below, add_profile, add_comment, carriage_returns]
ANY: list[Edit] = [remove_block, swap_arms, another_word, another_word, slip, line_lost_or_doubled, cut_off]
