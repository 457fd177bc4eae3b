"""The first page of the reference."""

from __future__ import annotations

from pathlib import PurePosixPath

from resolver.engine import versions
from resolver.machines import names
from resolver.views.reference.links import Links, stem, subject_page
from resolver.views.reference.markdown import code, made_from, plain, table
from resolver.views.reference.rules import files_of


def index_page(links: Links) -> list[str]:
    """What there is, and where."""
    rules, evidence = links.rules, links.evidence
    guards = [g for g in rules.guards.values() if g.arm is None]
    out = ["# Reference", "", made_from("`profiles.yaml` and `rules/`"), ""]
    out += table(
        ("page", "what is on it"),
        (
            ("[profiles.md](profiles.md)", f"{len(rules.profiles)} profiles, each on every machine file"),
            ("[arms.md](arms.md)", f"{len(rules.arms)} arms: the cells of the matrix"),
            ("[knobs.md](knobs.md)", f"{len(rules.knobs)} knobs"),
            ("[environment.md](environment.md)", "every environment variable that is read, set or removed"),
            ("[rules](#rules)", f"{len(guards)} guards and {len(rules.settings) - 1} settings, by subject"),
            ("[machines.md](machines.md)", f"{len(names(links.resolver.root))} machines to resolve for"),
            ("[engines.md](engines.md)", f"{len(versions(links.resolver.root))} versions of vLLM, and overlays"),
            ("[figures](#figures)", f"{len(evidence.figures)} measurements"),
            ("[hazards.md](hazards.md)", "ways in which such launches went wrong, and what is done about each"),
            ("[fit.md](fit.md)", "the memory arithmetic against the boots that are known"),
            ("[troubleshooting.md](../troubleshooting.md)", "by symptom"),
        ),
    )
    out += ["## Rules", ""]
    out += table(
        ("subject", "guards", "settings"),
        (
            (
                f"[{code(file)}]({subject_page(file)})",
                str(sum(g.position.file == file for g in rules.guards.values())),
                str(sum(s.position.file == file and s.name != "arm" for s in rules.settings.values())),
            )
            for file in files_of(rules)
        ),
    )
    out += ["## Figures", ""]
    figure_files = dict.fromkeys(f.position.file for f in evidence.figures.values())
    out += table(
        ("page", "figures"),
        (
            (
                f"[{_figures_name(file)}](figures/{_figures_name(file)}.md)",
                str(sum(f.position.file == file for f in evidence.figures.values())),
            )
            for file in figure_files
        ),
    )
    out += ["The words that figures are written in:", ""]
    out += table(
        ("metric", "unit", "means"), ((code(k), m["unit"], plain(m["means"])) for k, m in evidence.metrics.items())
    )
    out += table(("quality", "means"), ((code(k), plain(means)) for k, means in evidence.qualities.items()))
    return out


def _figures_name(file: str) -> str:
    return stem(PurePosixPath(file).name).removeprefix("figures-")
