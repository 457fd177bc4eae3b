"""The tables of README.md."""

from __future__ import annotations

from resolver.machines import load_machine
from resolver.request import build
from resolver.resolution import Resolution
from resolver.views.evidence import Figure
from resolver.views.figures import value_text
from resolver.views.matrix import CAPABILITIES, cells
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, plain, table
from resolver.views.suggest_cost import rates, same_knobs

MACHINE, CARD = "rtx-3090", "RTX 3090 24 GB"
"""The machine file, and the name of its card among the figures."""
USUAL = 16000
"""Tokens of context that most figures were measured near."""
GENERATIONS = {
    "8.0": "A100",
    "8.6": "RTX 3060 to 3090",
    "8.9": "RTX 4060 to 4090",
    "9.0": "H100, H200",
    "12.0": "RTX 5060 to 5090",
}
"""Cards of each compute capability, as NVIDIA lists them."""


def profiles(links: Links) -> list[str]:
    """Every profile with its arm on an RTX 3090 and the rates that somebody measured for it there."""
    resolver = links.resolver
    machine = load_machine(resolver.root, MACHINE)
    engine = resolver.engine_of(machine)
    rows = []
    for profile in links.rules.profiles.values():
        found = resolver.resolve(build(resolver.rules, resolver.table, profile=profile.name), machine, engine)
        arm = found.setting("arm")
        speeds = [_rate(links, found, metric) for metric in ("decode_tok_s", "prefill_tok_s")]
        shown = links.to("arm", arm) if arm and not found.refused else "refused: it is for a machine without a GPU"
        rows.append((links.to("profile", profile.name), plain(profile.help), shown, *speeds))
    return table(("profile", "what it is", f"arm on {code(MACHINE)}", "decodes", "reads prompts at"), rows)


def _rate(links: Links, found: Resolution, metric: str) -> str:
    """The rate that tells most of the launch, with what it was measured on; tasks that copy their context say so."""
    arm = links.rules.arms.get(str(found.setting("arm")))
    capability = found.facts.get("gpu.capability")
    fits = (
        [
            f
            for f in rates(links.evidence, arm, metric)
            if links.evidence.capability(f) == capability and same_knobs(found, f)
        ]
        if arm is not None
        else []
    )
    if not fits:
        return "not measured"
    best = min(fits, key=lambda f: _distance(f, str(found.request.profile)))
    about = [f"{best.setup['context_tokens']:,} tokens"] if "context_tokens" in best.setup else []
    about += [f"task: {best.setup['task']}"] if "task" in best.setup else []
    about += [best.hardware or "hardware unknown"] if best.hardware != CARD else []
    about += ["WSL 2"] if best.platform == "wsl2" else []
    about.append(f"vLLM {best.engine}" if best.engine else "engine not stated")
    return f"[{value_text(best)}]({links.path(links.places['figure', best.id])}), {', '.join(about)}"


def _distance(figure: Figure, profile: str) -> tuple[bool, bool, bool, bool, list[int], int]:
    copies = figure.setup.get("task") == "copy"
    newest = [-int(part) for part in (figure.engine or "0").split(".")]
    return (
        figure.hardware != CARD,
        copies is not profile.endswith("reproduction"),
        figure.platform == "wsl2",
        figure.quality != "measured",
        newest,
        abs(figure.setup.get("context_tokens", 0) - USUAL),
    )


def capabilities(links: Links) -> list[str]:
    """For each GPU generation: how many cells of the matrix have an arm, how many were measured, and on what."""
    found = [cell for cell in cells(links.rules) if cell.spec != "none"]
    rows = []
    for capability in CAPABILITIES:
        mine = [cell for cell in found if cell.capability == capability]
        covered, measured = [c for c in mine if c.arms], [c for c in mine if c.measured]
        on = dict.fromkeys(gpu for cell in measured for gpu in (cell.measured or "").split(", "))
        rows.append(
            (
                capability,
                GENERATIONS[capability],
                f"{len(covered)} of {len(mine)}",
                str(len(measured)) if measured else "none",
                ", ".join(on) or "nobody",
            )
        )
    return table(("compute capability", "such as", "cells with an arm", "measured", "by whom"), rows)
