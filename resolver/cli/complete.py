"""What could the word under the cursor become? Commands, options, profiles, machines, engines, arms, knobs and their values, with help.

The completion scripts of the shells ask `launch.py complete -- WORDS...`; the last word is the one to complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from resolver.cli.dispatch import COMMANDS, Command
from resolver.cli.options import OPTIONS
from resolver.cli.start import OK, put

if TYPE_CHECKING:
    from resolver.model import Knob
    from resolver.resolve import Resolver

Found = tuple[str, str]


def run_words(words: Sequence[str]) -> int:
    """Print what fits, a word and its help a line, with a tab between. Nothing fits: nothing is printed."""
    lines = [f"{word}\t{' '.join(help.split())}" for word, help in candidates(words)]
    put("".join(f"{line}\n" for line in lines))
    return OK


def candidates(words: Sequence[str]) -> list[Found]:
    """Completions of the last word, given the words before it."""
    *before, current = words or [""]
    if "--" in before:
        return []
    command = next((COMMANDS[w] for w in before if w in COMMANDS), COMMANDS["launch"])
    found = _wanted(command, before, current)
    return [(word, help) for word, help in found if word.startswith(current)]


def _wanted(command: Command, before: Sequence[str], current: str) -> Iterator[Found]:
    last = before[-1] if before else ""
    if last in OPTIONS and OPTIONS[last].value is not None:
        yield from values_of(last)
        return
    if current.startswith("-") and "=" in current:
        name = current.partition("=")[0]
        yield from ((f"{name}={value}", help) for value, help in values_of(name))
        return
    if current.startswith("-"):
        yield from ((name, OPTIONS[name].help) for name in command.options if name not in before)
        return
    resolver = _resolver()
    if "=" in current:
        knob = resolver.table.by_variable.get(current.partition("=")[0])
        if knob is not None and command.asks:
            yield from ((f"{knob.env}={value}", help) for value, help in knob_values(resolver, knob))
        return
    if not any(word in COMMANDS for word in before) and not before:
        yield from ((c.name, c.help) for c in COMMANDS.values() if c.name != "launch")
    if command.name == "knobs":
        yield from ((k.env, k.help) for k in resolver.rules.knobs.values())
    elif command.name in ("machines", "diff"):
        yield from values_of("--machine")
        if command.name == "diff":
            yield from values_of("--profile")
    elif command.name == "explain":
        yield from ((name, s.help or "a setting") for name, s in resolver.rules.settings.items())
    elif command.name == "completion":
        yield from ((shell, f"the script for {shell}") for shell in ("bash", "zsh", "fish"))
    if command.asks:
        yield from (
            (f"{k.env}=", k.help) for k in resolver.rules.knobs.values() if not k.secret and k.type != "ignored"
        )


def values_of(option: str) -> Iterator[Found]:
    """What an option may be given."""
    known = OPTIONS.get(option)
    if known is None or known.value is None:
        return
    if known.allowed:
        yield from ((value, "") for value in known.allowed)
    elif option == "--profile":
        yield from ((p.name, p.help) for p in _resolver().rules.profiles.values())
    elif option == "--machine":
        from resolver.machines import names

        yield from ((name, "a machine file") for name in names(_resolver().root))
    elif option == "--engine":
        from resolver.engine import versions

        yield from ((version, f"vLLM {version}") for version in versions(_resolver().root))
    elif option in ("--arm", "--into"):
        yield from ((a.name, a.help) for a in _resolver().rules.arms.values())
    elif option == "--apply":
        yield from ((n, f"suggestion {n}") for n in ("1", "2", "3"))
    elif option in ("--use", "--prefer"):
        from resolver.views.pick import PREFERENCES, USES

        yield from (((u.name, u.says) for u in USES.values()) if option == "--use" else ((p, "") for p in PREFERENCES))


def knob_values(resolver: Resolver, knob: Knob) -> Iterator[Found]:
    """Values worth offering for a knob: the allowed ones, the two of a switch, or those that the rules speak of."""
    from resolver.views.suggest_reach import values

    default = knob.default or ""
    for value in values(resolver.rules, knob, None)[:20]:
        yield value, f"{knob.help} (the default)" if value == default else knob.help


_OPEN: list[Resolver] = []


def _resolver() -> Resolver:
    if not _OPEN:
        from resolver.compile import open_resolver

        _OPEN.append(open_resolver())
    return _OPEN[0]
