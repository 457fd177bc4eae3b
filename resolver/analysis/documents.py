"""What rules say of themselves: their examples, and the figures they rest on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from resolver.analysis.finding import Finding, Witness
from resolver.compile.helpers import _version
from resolver.diagnostics import Position, RulesError
from resolver.model import Example
from resolver.resolve import Resolver
from resolver.views.check_examples import DEFAULT_MACHINE, Outcome, run_examples
from resolver.views.evidence import QUOTE, load_evidence
from resolver.yaml12 import read

_FIGURE = re.compile(r"\bid: \"?([A-Za-z0-9][A-Za-z0-9._-]*)\"?")
_ENGINE = re.compile(r"\bengine: \"?([0-9][0-9.]*)\"?")


def _all_examples(resolver: Resolver) -> dict[Position, Example]:
    found = [e for g in resolver.rules.guards.values() for e in (*g.fires, *g.silent)]
    found += [e for a in resolver.rules.arms.values() for e in (*a.taken, *a.passed_over)]
    return {example.position: example for example in found}


def as_request(resolver: Resolver, example: Example) -> dict[str, Any]:
    """The example as `resolve --batch` takes it; changed facts stay under `with`."""
    knobs = {resolver.rules.knobs[n].env if n in resolver.rules.knobs else n: t for n, t in example.knobs.items()}
    parts = {"profile": example.profile, "knobs": knobs, "args": list(example.args), "engine": example.engine}
    out = {key: value for key, value in parts.items() if value}
    return (
        out
        | {"machine": example.machine or DEFAULT_MACHINE}
        | ({"with": dict(example.with_facts)} if example.with_facts else {})
    )


def examples(resolver: Resolver, outcomes: Iterable[Outcome] | None = None) -> Iterator[Finding]:
    """Examples that do not do what they say; each is its own witness. `outcomes`: those of examples that have been run."""
    known: dict[Position, Example] = {}
    for outcome in run_examples(resolver) if outcomes is None else outcomes:
        if outcome.holds:
            continue
        known = known or _all_examples(resolver)
        message = f"an example of {outcome.owner} says `{outcome.claim}`, and {outcome.instead}"
        witness = Witness(as_request(resolver, known[outcome.position]), outcome.instead)
        yield Finding("example", outcome.owner, message, outcome.position, "correct the example, or the rule", witness)


def known_figures(root: Path) -> dict[str, str | None] | None:
    """The figures of rules/evidence/ and beside arms, and the engine each was measured on; None when there is no such folder."""
    folder = root / "rules" / "evidence"
    if not folder.is_dir():
        return None
    found: dict[str, str | None] = {}
    for path in sorted(folder.glob("*.yaml")):
        for piece in re.split(r"(?m)^ *- +", path.read_text(encoding="utf-8")):
            if name := _FIGURE.search(piece[:200]):
                engine = _ENGINE.search(piece)
                found[name.group(1)] = engine.group(1) if engine else None
    for arm in read(root / "profiles.yaml", "profiles.yaml").data["arms"].values():
        for item in arm.get("evidence", ()):
            found[item["id"]] = item.get("engine")
    return found


def evidence(resolver: Resolver) -> Iterator[Finding]:
    """Figures that cannot be read: words that the vocabulary does not have, ids that are there twice, wrong units."""
    if not (resolver.root / "rules" / "evidence").is_dir():
        return
    try:
        load_evidence(resolver.root)
    except RulesError as error:
        for d in error.diagnostics:
            if d.rule != QUOTE and d.position is not None:
                yield Finding("figures", "evidence", d.message, d.position, d.fix or "correct the figure")


def figures(resolver: Resolver) -> Iterator[Finding]:
    """Figures that no evidence file has, and figures that are all older than the version from which their rule holds."""
    known = known_figures(resolver.root)
    if known is None:
        return
    rules = resolver.rules
    owners: list[tuple[str, tuple[str, ...], Position, str | None]] = []
    owners += [(g.id, g.figures, g.position, g.since) for g in rules.guards.values()]
    owners += [(a.name, a.figures, a.position, None) for a in rules.arms.values()]
    owners += [(k.name, k.figures, k.position, None) for k in rules.knobs.values()]
    owners += [
        (f"{s.name}[{i + 1}]", r.figures, r.position, None)
        for s in rules.settings.values()
        for i, r in enumerate(s.rows)
    ]
    requests = {g.id: g.fires[0] for g in rules.guards.values() if g.fires} | {
        a.name: a.taken[0] for a in rules.arms.values() if a.taken
    }
    for owner, names, position, since in owners:
        example = requests.get(owner)
        witness = Witness(as_request(resolver, example), f"{owner} speaks here") if example else None
        for name in names:
            if name not in known:
                message = (
                    f"{owner} rests on the figure {name}, which nothing in rules/evidence/ or profiles.yaml is called"
                )
                yield Finding("figures", owner, message, position, "add the figure, or name another", witness)
        measured = [_version(e) for name in names if (e := known.get(name))]
        if since and measured and all(m and m < (_version(since) or ()) for m in measured):
            message = f"{owner} holds since {since}, and every figure of it was measured on an older engine"
            yield Finding(
                "figures", owner, message, position, "name a figure of that version, or an earlier `since`", witness
            )
