"""Run the examples that guards and arms carry: each says on which request its rule speaks or stays silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from resolver.diagnostics import Position, RulesError, UsageError
from resolver.machines import load_machine, with_facts
from resolver.model import Example
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver

DEFAULT_MACHINE = "rtx-3090"
"""The machine of an example that names none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One example: whose it is, what it claims, whether that holds, and what happened instead."""

    owner: str
    claim: str
    position: Position
    holds: bool
    instead: str = ""


def resolve_example(resolver: Resolver, example: Example) -> Resolution:
    """The example's request, resolved. Raises UsageError or RulesError when it names what is not there."""
    machine = load_machine(resolver.root, example.machine or DEFAULT_MACHINE)
    if example.with_facts:
        machine = with_facts(resolver.root, machine, example.with_facts)
    secrets = {n for n in example.knobs if n in resolver.rules.knobs and resolver.rules.knobs[n].secret}
    request = build(
        resolver.rules,
        resolver.table,
        profile=example.profile,
        assignments=[(n, t, f"example {n}") for n, t in example.knobs.items() if n not in secrets],
        environ={resolver.rules.knobs[n].env: example.knobs[n] for n in sorted(secrets)},
        args=example.args,
    )
    return resolver.resolve(request, machine, example.engine)


def run_examples(resolver: Resolver) -> Iterator[Outcome]:
    """Every example of every guard and arm, in the order of the rules."""
    for guard in resolver.rules.guards.values():
        for claim, examples in (("fires", guard.fires), ("silent", guard.silent)):
            for example in examples:
                yield _outcome(resolver, guard.id, claim, example)
    for arm in resolver.rules.arms.values():
        for claim, examples in (("taken", arm.taken), ("passed_over", arm.passed_over)):
            for example in examples:
                yield _outcome(resolver, arm.name, claim, example)


def _outcome(resolver: Resolver, owner: str, claim: str, example: Example) -> Outcome:
    try:
        resolution = resolve_example(resolver, example)
    except UsageError as error:
        return Outcome(owner, claim, example.position, False, error.message)
    except RulesError as error:
        return Outcome(owner, claim, example.position, False, error.diagnostics[0].message)
    problems = [d.message for d in resolution.request.problems]
    problems += [f"{name} {r.problem}" for name, r in resolution.readings.items() if r.problem]
    if claim in ("fires", "silent"):
        spoke = owner in {guard.id for guard in resolution.fired}
        holds = spoke == (claim == "fires")
        instead = "it stays silent" if claim == "fires" else "it fires"
    else:
        taken = resolution.setting("arm")
        holds = (taken == owner) == (claim == "taken")
        instead = f"the arm is {taken or 'none'}"
    if problems:
        return Outcome(owner, claim, example.position, False, f"the example itself is wrong: {problems[0]}")
    return Outcome(owner, claim, example.position, holds, "" if holds else instead)
