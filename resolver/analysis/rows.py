"""Rows and guards: those that can never hold, that others hide, that say what others say, and windows of versions with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from resolver.analysis import claims
from resolver.analysis.diagram import EMPTY
from resolver.analysis.finding import Finding, Witness
from resolver.analysis.model import Model
from resolver.analysis.replay import Claim, replay
from resolver.analysis.terms import Fixed, Term
from resolver.compile.helpers import _version
from resolver.conditions import All, Condition, Leaf
from resolver.expressions import Name
from resolver.model import Guard, Row
from resolver.wording import condition_text

SAYS_MOST = "everything holds that can hold together, and it is not taken"


def dead_witness(model: Model, condition: Condition, start: int, claim: Claim) -> tuple[Witness | None, str]:
    """A request in which as many parts hold as can, and the part that then cannot, in words."""
    node, conflict = start, ""
    for part in condition.parts if isinstance(condition, All) else (condition,):
        smaller = model.space.both(node, model.condition(part))
        if smaller == EMPTY:
            conflict = conflict or condition_text(part)
        else:
            node = smaller
    return replay(model, node, claim, SAYS_MOST), conflict


def rows(model: Model) -> Iterator[Finding]:
    """Every row of every setting table, the arms' own table among them."""
    for name, setting in model.rules.settings.items():
        wins, holds = model.rows(name)
        for i, (row, win, hold) in enumerate(zip(setting.rows, wins, holds, strict=True)):
            if win == EMPTY:
                yield _never(model, name, i, row, hold)
            elif not (name == "arm" or row.because or row.figures) and _same_without(model, name, i):
                after = next(
                    (j for j in range(i + 1, len(setting.rows)) if model.space.both(win, holds[j]) != EMPTY), -1
                )
                witness = replay(
                    model, win, claims.wins(name, i), f"row {i + 1} is taken; without it row {after + 1} gives the same"
                )
                if witness:
                    yield Finding(
                        "redundant",
                        f"{name}[{i + 1}]",
                        f"row {i + 1} of {name} gives what the rows after it give anyway",
                        row.position,
                        "remove the row, or say in accepted_findings.yaml why it stays",
                        witness,
                        others=(setting.rows[after].position,),
                    )


def _never(model: Model, name: str, i: int, row: Row, hold: int) -> Finding:
    table = model.rules.settings[name].rows
    rule = str(row.value.value) if name == "arm" and hasattr(row.value, "value") else f"{name}[{i + 1}]"
    what = f"arm {rule}" if name == "arm" else f"row {i + 1} of {name}"
    if hold == EMPTY:
        witness, conflict = dead_witness(model, row.when, model.universe, lambda r: not claims.wins(name, i)(r))
        message = f"{what} can never be taken: {conflict or 'its parts'} never holds together with the rest"
        return Finding("dead", rule, message, row.position, "correct the condition, or remove the row", witness)
    earlier = [j for j in range(i) if model.space.both(hold, model.rows(name)[0][j]) != EMPTY]
    witness = replay(
        model, hold, claims.another_wins(name, i, row.when), "its condition holds, and an earlier row is taken"
    )
    default = isinstance(row.when, All) and not row.when.parts
    kind = "unreachable-default" if default and name != "arm" else "shadowed"
    by = ", ".join(table[j].value.value if name == "arm" else str(j + 1) for j in earlier)  # type: ignore[union-attr,misc]
    said = f"{what} is never taken: {'arms' if name == 'arm' else 'rows'} {by} take every request that it would take"
    return Finding(
        kind,
        rule,
        said,
        row.position,
        "move it up, or remove it",
        witness,
        others=tuple(table[j].position for j in earlier),
    )


def _same_without(model: Model, name: str, i: int) -> bool:
    """Whether the setting would be the same if the row were not there."""
    wins, holds = model.rows(name)
    table = model.rules.settings[name].rows
    after: dict[Term, int] = {}
    left = wins[i]
    for row, hold in zip(table[i + 1 :], holds[i + 1 :], strict=True):
        _add(model, after, row, model.space.both(left, hold))
        left = model.space.minus(left, hold)
    if left != EMPTY:
        after[Fixed(None)] = model.space.either(after.get(Fixed(None), EMPTY), left)
    now: dict[Term, int] = {}
    _add(model, now, table[i], wins[i])
    return now == after


def _add(model: Model, into: dict[Term, int], row: Row, where: int) -> None:
    for term, there in model.expression(row.value, where):
        if there != EMPTY:
            into[term] = model.space.either(into.get(term, EMPTY), there)


def guards(model: Model) -> Iterator[Finding]:
    """Every guard: dead, masked, or the double of another."""
    seen: dict[tuple[object, ...], Guard] = {}
    for guard in model.rules.guards.values():
        parts = model.guard_parts(guard.id)
        if not parts:
            yield _dead_guard(model, guard)
            continue
        double = seen.setdefault((guard.severity, tuple(sorted(parts))), guard)
        if double is not guard:
            message = f"{guard.id} fires exactly where {double.id} fires"
            witness = _first(model, parts, claims.both_fire(guard.id, double.id), "both fire")
            yield Finding(
                "same", guard.id, message, guard.position, "keep one of the two", witness, others=(double.position,)
            )
        elif all(model.accepted(part, but=(guard.id,)) is None for part in parts):
            witness = _first(
                model, parts, claims.refused_besides(guard.id), "it fires, and something else refuses as well"
            )
            what = "refuses" if guard.severity == "refuse" else "speaks of"
            message = f"everything that {guard.id} {what} is refused by other rules already"
            yield Finding(
                "masked",
                guard.id,
                message,
                guard.position,
                "remove it, or let the others leave it some requests",
                witness,
            )


def _first(model: Model, parts: tuple[int, ...], claim: Claim, shows: str) -> Witness | None:
    return next((w for part in parts if (w := replay(model, part, claim, shows))), None)


def _dead_guard(model: Model, guard: Guard) -> Finding:
    window = model.space.both(model.universe, model.window(guard.since, guard.until))
    if window == EMPTY:
        said = f"{guard.id} can never fire: no known engine is in its window of versions"
        witness = replay(
            model,
            model.space.both(model.universe, model.condition(guard.when)),
            claims.silent(guard.id),
            "its condition holds, and it stays silent",
        )
        return Finding("dead", guard.id, said, guard.position, "correct since/until, or remove the guard", witness)
    witness, conflict = dead_witness(model, guard.when, window, claims.silent(guard.id))
    said = f"{guard.id} can never fire: {conflict or 'its parts'} never holds together with the rest"
    return Finding("dead", guard.id, said, guard.position, "correct the condition, or remove the guard", witness)


def same_settings(model: Model) -> Iterator[Finding]:
    """Two tables that give the same value in every request, though neither says so."""
    seen: dict[frozenset[tuple[Term, int]], str] = {}
    for name, setting in model.rules.settings.items():
        parts = frozenset(model.values(name))
        if (
            name == "arm"
            or len(parts) < 2
            or all(isinstance(r.when, Leaf) and r.when.name == "arm" for r in setting.rows)
        ):
            continue
        double = seen.setdefault(parts, name)
        if double == name or _refers(model, name, double):
            continue
        here = next((where for where in model.rows(name)[0] if where != EMPTY), model.universe)
        witness = replay(model, here, claims.same_value(name, double), "both have the same value")
        yield Finding(
            "same",
            name,
            f"{name} has the value of {double} in every request",
            setting.position,
            f"write `value: = {double}`, or keep one of the two",
            witness,
            others=(model.rules.settings[double].position,),
        )


def _refers(model: Model, a: str, b: str) -> bool:
    rows = [*((a, b, r) for r in model.rules.settings[a].rows), *((b, a, r) for r in model.rules.settings[b].rows)]
    return any(isinstance(row.value, Name) and row.value.name == other for _, other, row in rows)


def version_gaps(model: Model) -> Iterator[Finding]:
    """Guards with one condition and several windows, between which a known version lies."""
    groups: dict[int, list[Guard]] = {}
    for guard in model.rules.guards.values():
        if guard.since or guard.until:
            groups.setdefault(model.condition(guard.when), []).append(guard)
    for node, group in groups.items():
        ordered = sorted(group, key=lambda g: _version(g.since or "0") or ())
        for before, after in pairwise(ordered):
            low, high = _version(before.until or "99999") or (), _version(after.since or "0") or ()
            between = [e for e in model.engines if low <= (_version(e.version) or ()) < high]
            if not between:
                continue
            here = model.space.both(node, model.engines_with(lambda e, b=between: e in b))
            witness = replay(
                model, model.space.both(here, model.universe), claims.silent(*(g.id for g in group)), "neither fires"
            )
            versions = ", ".join(dict.fromkeys(e.version for e in between))
            message = (
                f"{before.id} ends before {before.until} and {after.id} begins at {after.since}: {versions} has neither"
            )
            yield Finding(
                "version-gap",
                after.id,
                message,
                after.position,
                "let the windows meet",
                witness,
                others=(before.position,),
            )
