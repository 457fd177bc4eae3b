"""The page of the arms, and that of the profiles."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model import Arm
from resolver.request import build
from resolver.views.figures import value_text
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, made_from, plain, table
from resolver.views.reference.rules import example
from resolver.yaml12 import read


def arms_page(links: Links) -> list[str]:
    """Every arm: what it takes, sets and needs, and who measured it."""
    arms = links.rules.arms
    typed = read(links.resolver.root / "profiles.yaml", "profiles.yaml").data["arms"]
    out = ["# Arms", "", made_from(links.source("profiles.yaml")), ""]
    out += [f"{len(arms)} arms, tried from top to bottom. How to add one: [adding-an-arm.md](../adding-an-arm.md).", ""]
    out += table(
        ("arm", "what it is", "measured on"),
        ((links.to("arm", a.name), plain(a.help), _measured(a) or "nobody measured it") for a in arms.values()),
    )
    for arm in arms.values():
        rows = [("candidate when", links.condition(arm.when))]
        if arm.chosen_by is not None:
            rows.append(("asked for by", links.condition(arm.chosen_by)))
        if arm.eligible is not None:
            rows.append(("default when", links.condition(arm.eligible)))
        rows += [
            ("needs", f"{links.to('guard', g.id)}: {plain(g.reason)}")
            for g in links.rules.guards.values()
            if g.arm == arm.name
        ]
        sets = ", ".join(f"{links.to('setting', k)} {code(f'{v}')}" for k, v in typed[arm.name].get("sets", {}).items())
        rows.append(("sets", sets))
        rows.append(("measured on", _measured(arm) or "nobody measured it"))
        if arm.origins:
            rows.append(("origin", links.origins(arm.origins)))
        rows += [("taken", example(links, e)) for e in arm.taken]
        rows += [("passed over", example(links, e)) for e in arm.passed_over]
        out += [f"## {code(arm.name)}", "", plain(arm.help) + ".", "", *table(("", ""), rows), *_figures(links, arm)]
    return out


def _measured(arm: Arm) -> str:
    return "; ".join(f"{capability}: {gpu}" for capability, gpu in arm.measured.items())


def _figures(links: Links, arm: Arm) -> list[str]:
    found = [links.evidence.figures[id] for id in arm.figures]
    return table(
        ("figure", "value", "metric", "hardware", "engine", "what"),
        (
            (
                links.to("figure", f.id),
                value_text(f),
                f.metric,
                f.hardware or "unknown",
                f.engine or "unknown",
                plain(f.note or ""),
            )
            for f in found
        ),
    )


def profiles_page(links: Links) -> list[str]:
    """Every profile, and what it gives on each machine that comes with the product."""
    out = ["# Profiles", "", made_from(links.source("profiles.yaml") + " and the machine files"), ""]
    out += table(
        ("profile", "what it is"), ((links.to("profile", p.name), plain(p.help)) for p in links.rules.profiles.values())
    )
    for profile in links.rules.profiles.values():
        knobs = ", ".join(f"{links.to('knob', links.rules.knobs[k].env)}={v}" for k, v in profile.knobs.items())
        out += [f"## {code(profile.name)}", "", plain(profile.help) + ".", "", f"Knobs: {knobs}.", ""]
        out += table(("machine", "arm", "tokens", "requests at once", "refused by"), _on_machines(links, profile.name))
    return out


def _on_machines(links: Links, profile: str) -> Iterator[tuple[str, str, str, str, str]]:
    from resolver.machines import load_machine, names

    resolver = links.resolver
    request = build(resolver.rules, resolver.table, profile=profile)
    for name in names(resolver.root):
        machine = load_machine(resolver.root, name)
        found = resolver.resolve(request, machine, resolver.engine_of(machine))
        arm = found.setting("arm")
        refusals = [d.rule for d in found.diagnostics if d.severity == "refuse"]
        sizes = ("", "") if refusals else (str(found.setting("max_model_len")), str(found.setting("max_num_seqs")))
        yield (
            links.to("machine", name),
            links.to("arm", arm) if arm else "none",
            *sizes,
            ", ".join(links.to("guard", rule) for rule in dict.fromkeys(refusals)),
        )
