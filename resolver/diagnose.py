"""Say what a Resolution found: one Diagnostic for each problem, with the knobs involved, where they came from, and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from resolver import conditions, expressions
from resolver.attention import unserved
from resolver.causes import cause_of, causes, flag_causes, names_of
from resolver.compile.helpers import show
from resolver.conditions import Condition
from resolver.configurations import unfit
from resolver.diagnostics import Cause, Diagnostic
from resolver.interpret import holds, unknown_behind
from resolver.masking import hide_in_json, hide_in_word
from resolver.model import Flag, Guard
from resolver.parser_names import unknown_parsers
from resolver.typed_configurations import unknown_keys
from resolver.unmeasured import unmeasured
from resolver.unread_environment import unread_environment
from resolver.wording import condition_text

if TYPE_CHECKING:
    from resolver.render import Unread
    from resolver.resolution import Resolution

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def diagnose(resolution: Resolution, refusals_only: bool = False) -> Iterator[Diagnostic]:
    """Every diagnostic, in a fixed order; or the refusals alone, which is quicker."""
    yield from resolution.request.problems
    yield from _knobs(resolution)
    if resolution.passthrough.problem:
        yield Diagnostic(
            "refuse",
            "engine-refuses-flags",
            f"vLLM {resolution.engine.version} would not take the engine flags: {resolution.passthrough.problem}",
            "correct or remove the flag (EXTRA_ARGS, or after `--`)",
            causes=tuple(flag_causes(resolution)),
        )
    if resolution.setting("arm") is None:
        yield _no_arm(resolution)
    for guard in resolution.fired:
        if guard.severity == "refuse" or not refusals_only:
            yield _guard(resolution, guard)
    for unread in resolution.rendered.unread:
        if unread.kind == "choice" and _lacks_a_need(resolution):
            continue
        if not refusals_only or needs_a_reader(resolution, unread):
            yield _unread(resolution, unread)
    if not _lacks_a_need(resolution):
        yield from unserved(resolution)
    yield from unfit(resolution)
    yield from unknown_parsers(resolution)
    yield from (refusal for _, refusal in unknown_keys(resolution))
    if not refusals_only:
        yield from unmeasured(resolution)
        yield from unread_environment(resolution)


def _knobs(resolution: Resolution) -> Iterator[Diagnostic]:
    for name, reading in resolution.readings.items():
        if reading.problem:
            knob = resolution.rules.knobs[name]
            origins = (knob.invalid_origin,) if knob.invalid_origin else ()
            cause = cause_of(resolution, name)
            yield Diagnostic(
                "refuse",
                f"bad-{name.replace('_', '-')}",
                f"{knob.env} {reading.problem}",
                reading.fix or f"leave {knob.env} unset",
                knob.position,
                cause,
                origins,
            )


def fill(resolution: Resolution, text: str) -> str:
    """A message with its {names} replaced by values."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        meaning = resolution.resolver.scope.meaning(name)
        if meaning is None:
            return match.group(0)
        if meaning.base in resolution.rules.knobs and meaning.kind == "knob":
            if resolution.rules.knobs[meaning.base].secret:
                return "(not shown)"
            return resolution.render_lookup(name)[1] or "unset"
        if meaning.kind == "setting":
            found, text = resolution.render_lookup(name)
            return text or show(found) or "none"
        if meaning.kind == "extra_last":
            return hide_in_word(show(resolution.passthrough.last_text.get(meaning.base))) or "unset"
        found = resolution.lookup(name)
        if isinstance(found, (tuple, frozenset)):
            return ", ".join(sorted(map(show, found))) or "none"
        return show(found) or "unknown"

    return hide_in_json(_HOLE.sub(value, text))


def _flags_over(resolution: Resolution, knobs: Iterable[str]) -> list[str]:
    """The user's engine flags that would win over these knobs, as the launcher spells them."""
    over = resolution.shadowed
    if not over:
        return []
    rules, read = resolution.rules, resolution.resolver.plan(resolution.engine).read
    sources = {source for name in knobs for source in (name, *rules.knobs[name].sets)}
    return [e.flag for e in rules.argv if isinstance(e, Flag) and e.source in sources and read[e.flag] in over]


def _instead(resolution: Resolution, guard: Guard) -> str | None:
    knobs = resolution.rules.knobs
    ways = []
    for change in guard.instead:
        set_to = [f"{knobs[k].env}={v}" for k, v in change.items() if v is not None]
        unset = [knobs[k].env for k, v in change.items() if v is None]
        over = _flags_over(resolution, change)
        steps = (("remove", over), ("set", set_to), ("unset", unset))
        parts = [f"{verb} {' and '.join(words)}" for verb, words in steps if words]
        ways.append(" and ".join(parts))
    return ", or ".join(ways) or None


def _guard(resolution: Resolution, guard: Guard) -> Diagnostic:
    said = [part for part in (fill(resolution, guard.fix) if guard.fix else None, _instead(resolution, guard)) if part]
    return Diagnostic(
        guard.severity,
        guard.id,
        fill(resolution, guard.reason),
        "; or ".join(said) or None,
        guard.position,
        causes(resolution, names_of(resolution, guard)),
        guard.origins,
        unknown_behind(resolution, guard.when, True),
    )


def _no_arm(resolution: Resolution) -> Diagnostic:
    """No arm covers the cell: say which arms come nearest and what each lacks."""
    details = []
    for arm in resolution.rules.arms.values():
        if holds(resolution, arm.when):
            details.append(f"{arm.name}: not taken unless {describe_choice(arm.chosen_by, arm.eligible)}")
    backends = sorted(
        {
            show(e.value)
            for a in resolution.rules.arms.values()
            if holds(resolution, _cell(a.when, ("ctx", "spec", "device", "gpu.capability")))
            for e in [a.sets.get("attention_backend")]
            if isinstance(e, expressions.Const) and e.value
        }
    )
    fix = f"use ATTENTION_BACKEND={' or '.join(backends)}, or leave it unset" if backends else _other_cells(resolution)
    names = iter(["ctx", "spec", "backend", "pth_fa", "fa2_fp8kv"])
    unknown = tuple(n for n in ("gpu.capability", "device") if resolution.facts.get(n) is None)
    where = f"CTX={show(resolution.lookup('ctx'))} SPEC={show(resolution.lookup('spec'))}"
    if resolution.lookup("backend"):
        where += f" ATTENTION_BACKEND={resolution.lookup('backend')}"
    return Diagnostic(
        "refuse",
        "no-arm",
        f"no arm serves {where} on {_device(resolution)}",
        fix,
        causes=causes(resolution, (n for n in names if n in resolution.rules.knobs)),
        unknown=unknown,
        details=tuple(details),
    )


def _device(resolution: Resolution) -> str:
    """What the engine would run on, in words."""
    device = resolution.facts.get("device")
    if device == "cpu":
        return "a CPU"
    capability = show(resolution.facts.get("gpu.capability"))
    return f"compute capability {capability}" if capability else "a GPU of unknown compute capability"


def _cell(when: Condition, of: tuple[str, ...]) -> Condition:
    """The part of an arm's `when` that speaks of these names alone."""
    if isinstance(when, conditions.All):
        return conditions.All(tuple(p for p in when.parts if set(conditions.names(p)) <= set(of)))
    return when


def _other_cells(resolution: Resolution) -> str:
    """What this device can run, where it cannot run what was asked."""
    found = [a for a in resolution.rules.arms.values() if holds(resolution, _cell(a.when, ("device",)))]
    knobs = resolution.rules.knobs
    texts = {
        " ".join(
            f"{knobs[leaf.name].env}={show(leaf.operand[0])}"
            for leaf in conditions.leaves(_cell(a.when, ("ctx", "spec")))
            if leaf.op == "is"
        )
        for a in found
    }
    if not texts or len(texts) > 3:
        return "see `launch.py arms` for what there is"
    return f"use {' or '.join(sorted(texts))}, which this device has an arm for"


def describe_choice(chosen_by: Condition | None, eligible: Condition | None) -> str:
    """When an arm is taken, in words."""
    ways = [condition_text(c) for c in (chosen_by, eligible) if c is not None]
    return " or ".join(ways) or "always"


def _asked(resolution: Resolution, source: str) -> tuple[Cause, ...]:
    """The knobs given by the user that name what `source` renders."""
    linked = sorted(k.name for k in resolution.rules.knobs.values() if source in k.sets or k.name == source)
    return tuple(c for name in linked if resolution.knob_state(name) == 2 for c in cause_of(resolution, name))


def needs_a_reader(resolution: Resolution, unread: Unread) -> bool:
    """Whether the launch rests on it: the user asked for it, or the arm sets it. Else it is left out."""
    if _asked(resolution, unread.source):
        return True
    return unread.kind == "choice" and any(unread.source in arm.sets for arm in resolution.rules.arms.values())


def _unread(resolution: Resolution, unread: Unread) -> Diagnostic:
    engine = resolution.engine
    asked = _asked(resolution, unread.source)
    what = {
        "flag": f"the flag {unread.what}",
        "choice": f"{unread.what} {unread.value}",
        "variable": f"the variable {unread.what}={unread.value}",
    }[unread.kind]
    from resolver.readers import readers

    homes = readers(resolution.resolver, engine, unread.kind, unread.what, unread.value)
    has = f"; {' and '.join(homes)} {'has' if len(homes) == 1 else 'have'} it" if homes else ""
    if needs_a_reader(resolution, unread):
        who = "" if asked else f" (arm {resolution.setting('arm')} needs it)"
        fix = f"use --engine {homes[0]}, or unset the knob" if homes else "unset the knob"
        return Diagnostic(
            "refuse",
            f"nothing-reads-{unread.kind}",
            f"nothing in vLLM {engine.name} reads {what}{who}{has}",
            fix,
            causes=asked,
        )
    return Diagnostic(
        "note", f"left-out-{unread.kind}", f"left out {what}: nothing in vLLM {engine.name} reads it{has}"
    )


def _lacks_a_need(resolution: Resolution) -> bool:
    """Whether the arm lacks something it needs, so that what follows from the lack need not be said again."""
    return any(guard.arm for guard in resolution.fired)
