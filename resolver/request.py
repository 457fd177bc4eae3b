"""One request: the knobs after all layers (command line > environment > env file > profile), the caller's environment, the engine flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from resolver.diagnostics import Diagnostic, nearest
from resolver.knobs import Given, KnobTable
from resolver.model import Rules


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `environ` is the caller's environment, `args` the engine flags typed after `--`."""

    knobs: Mapping[str, Given] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    profile: str | None = None
    problems: tuple[Diagnostic, ...] = ()
    unknown: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    """Assignments to knobs that do not exist (word, text, origin). A text may be a secret: nothing shows it."""
    caller: Mapping[str, str] | None = field(default=None, repr=False)
    """The caller's own environment, where `environ` has more: knobs given elsewhere that are variables of the engine."""
    from_file: frozenset[str] = frozenset()
    """Variables of `environ` that --env-file brought."""


def knob_name(table: KnobTable, word: str) -> str | None:
    """The knob that a user means by `MAX_LEN` or `max_len`."""
    if word in table.by_variable:
        return table.by_variable[word].name
    return word if word in table.knobs else None


def build(
    rules: Rules,
    table: KnobTable,
    *,
    profile: str | None = None,
    assignments: Iterable[tuple[str, str, str]] = (),
    environ: Mapping[str, str] | None = None,
    env_file: Mapping[str, tuple[str, str]] | None = None,
    args: Iterable[str] = (),
) -> Request:
    """Put the layers together. `assignments` are (name, text, origin); `env_file` maps a name to (text, origin).

    An unknown profile or knob is a diagnostic with the nearest known name; it never stops the rest.
    """
    problems: list[Diagnostic] = []
    unknown: list[tuple[str, str, str]] = []
    knobs: dict[str, Given] = {}
    environ = environ or {}
    if profile is not None:
        found = rules.profiles.get(profile)
        if found is None:
            near = nearest(profile, list(rules.profiles))
            listed = f"profiles: {', '.join(rules.profiles)}"
            problems.append(
                Diagnostic(
                    "refuse",
                    "unknown-profile",
                    f"there is no profile {profile!r}",
                    f"did you mean {near}?" if near else listed,
                )
            )
        else:
            for name, text in found.knobs.items():
                knobs[name] = Given(text, f"profile {profile}, {found.position}")
    base = dict(environ)
    for word, (text, origin) in (env_file or {}).items():
        found_name = knob_name(table, word) if word.isupper() else None
        if found_name:
            knobs[found_name] = Given(text, origin)
        base.setdefault(word, text)
    for variable, knob in table.by_variable.items():
        if variable in environ:
            knobs[knob.name] = Given(environ[variable], f"environment {variable}")
    for word, text, origin in assignments:
        known = knob_name(table, word)
        if known is None:
            unknown.append((word, text, origin))
            near = nearest(word, [*table.by_variable])
            problems.append(
                Diagnostic(
                    "refuse",
                    "unknown-knob",
                    f"there is no knob {word!r} ({origin})",
                    f"did you mean {near}?" if near else "see `launch.py knobs`",
                )
            )
            continue
        if table.knobs[known].secret:
            message = (
                f"{table.knobs[known].env} on the command line can be read by every user of this machine ({origin})"
            )
            problems.append(
                Diagnostic(
                    "refuse", "secret-on-the-command-line", message, "set it in the environment, or use api_key.txt"
                )
            )
            continue
        knobs[known] = Given(text, origin)
    ordered = {name: knobs[name] for name in sorted(knobs)}
    return Request(
        ordered,
        base,
        tuple(args),
        profile,
        tuple(sorted(problems, key=lambda d: (d.rule != "unknown-profile", d.rule, d.message))),
        tuple(unknown),
        from_file=frozenset(env_file or ()) - frozenset(environ),
    )
