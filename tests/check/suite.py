"""The tests of the rules as one list: recorded runs, examples, and pinned decisions. Each can be run against other rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from resolver.analysis import terms
from resolver.compile.codegen import generate
from resolver.compile.helpers import HELPERS
from resolver.expressions import Expression, names
from resolver.facts import Machine
from resolver.interpret import holds
from resolver.machines import inline_machine, load_machine
from resolver.model import Example, Guard, Rules, Setting
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from resolver.views.check_examples import resolve_example
from tests.golden import cases
from tests.golden.compare import compare
from tests.golden.exempt import exempted_by

DECISIONS = Path(__file__).parent / "decisions.jsonl"
ROOT = "$ROOT"


@dataclass
class Test:
    """`resolution`: what happens with the real rules. `fails`: whether other rules are noticed."""

    __test__ = False
    name: str
    resolution: Resolution
    fails: Callable[[Resolver], bool]
    about: str | None = None


def with_rules(resolver: Resolver, rules: Rules) -> Resolver:
    """A resolver for changed rules with the same names; engines and read knobs are shared."""
    space: dict[str, Any] = dict(HELPERS)
    exec(compile(generate(rules, resolver.scope), "<mutant>", "exec"), space)
    made = Resolver(
        resolver.root, rules, resolver.scope, (space["settings"], space["guards"]), resolver.engine, resolver.table
    )
    made._plans = resolver._plans
    return made


def recorded(resolver: Resolver) -> Iterator[Test]:
    """The recorded runs."""

    def fails(case: cases.Case, other: Resolver) -> bool:
        differences = compare(other, case).differences
        return bool(differences) and exempted_by(case, differences) is None

    for path in sorted(cases.DATA.glob("*.jsonl.xz")):
        for case in cases.read(path):
            yield Test(f"recorded {case.id}", compare(resolver, case).resolution, partial(fails, case))


def examples(resolver: Resolver) -> Iterator[Test]:
    """The examples of guards and arms."""

    def guard_fails(example: Example, name: str, wanted: bool, other: Resolver) -> bool:
        return (name in {g.id for g in resolve_example(other, example).fired}) != wanted

    def arm_fails(example: Example, name: str, wanted: bool, other: Resolver) -> bool:
        return (resolve_example(other, example).setting("arm") == name) != wanted

    for guard in resolver.rules.guards.values():
        for wanted, found in ((True, guard.fires), (False, guard.silent)):
            for example in found:
                yield Test(
                    f"example of {guard.id}",
                    resolve_example(resolver, example),
                    partial(guard_fails, example, guard.id, wanted),
                    guard.id,
                )
    for arm in resolver.rules.arms.values():
        for wanted, found in ((True, arm.taken), (False, arm.passed_over)):
            for example in found:
                yield Test(
                    f"example of {arm.name}",
                    resolve_example(resolver, example),
                    partial(arm_fails, example, arm.name, wanted),
                    "arm",
                )


def portable(value: Any, root: Path) -> Any:
    """A value without the folder that this product happens to be in."""
    return value.replace(str(root), ROOT) if isinstance(value, str) else value


def resolve_request(resolver: Resolver, request: Mapping[str, Any]) -> Resolution:
    """Resolve a request in the form that `resolve --batch` takes."""
    wanted = request.get("machine", {"facts": {}})
    machine: Machine = (
        load_machine(resolver.root, wanted)
        if isinstance(wanted, str)
        else inline_machine(resolver.root, wanted, "decisions")
    )
    given = [(name, text, "decision") for name, text in request.get("knobs", {}).items()]
    asked = build(
        resolver.rules, resolver.table, assignments=given, environ=request.get("env"), args=request.get("args", ())
    )
    return resolver.resolve(asked, machine, request.get("engine"))


def decided(resolution: Resolution, rule: str) -> Any:
    """What the resolution says of the rule: whether the guard fires, or the value of the setting."""
    if rule in resolution.rules.guards:
        return rule in {guard.id for guard in resolution.fired}
    return portable(resolution.setting(rule), resolution.resolver.root)


def decisions(resolver: Resolver, path: Path = DECISIONS) -> Iterator[Test]:
    """The pinned decisions; `python -m tests.check.pin` writes them."""

    def fails(entry: Mapping[str, Any], other: Resolver) -> bool:
        found = decided(resolve_request(other, entry["request"]), entry["rule"])
        return type(found) is not type(entry["is"]) or found != entry["is"]

    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["rule"] in resolver.rules.guards or entry["rule"] in resolver.rules.settings:
                resolution = resolve_request(resolver, entry["request"])
                yield Test(f"decision on {entry['rule']}", resolution, partial(fails, entry), entry["rule"])


def value_under(resolution: Resolution, setting: Setting) -> Any:
    """The value that a changed table would give in this resolution, all else unchanged: a quick look before the real run."""
    for row in setting.rows:
        if holds(resolution, row.when):
            return terms.evaluate(row.value, _values(resolution, row.value))
    return None


def _values(resolution: Resolution, expression: Expression) -> dict[str, Any]:
    return {name: resolution.lookup(name) for name in names(expression)}


def fires_under(resolution: Resolution, guard: Guard | None) -> bool:
    """Whether a changed guard would fire."""
    if guard is None or not _in_window(resolution, guard):
        return False
    return holds(resolution, guard.when)


def _in_window(resolution: Resolution, guard: Guard) -> bool:
    from resolver.compile.helpers import _ge, _lt

    version = resolution.engine.version
    return (not guard.since or _ge(version, guard.since)) and (not guard.until or _lt(version, guard.until))


def everything(resolver: Resolver) -> Iterator[Test]:
    """All tests of the rules."""
    yield from decisions(resolver)
    yield from examples(resolver)
    yield from recorded(resolver)
