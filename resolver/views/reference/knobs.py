"""The page of the knobs, and that of the environment variables."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.conditions import leaves
from resolver.expressions import names as names_in
from resolver.model import Knob
from resolver.views.reference.links import Links
from resolver.views.reference.markdown import code, made_from, plain, table

OWN = {
    "LAUNCH_CACHE_DIR": "folder for compiled rules and other things that can be made again; empty: none",
    "LAUNCH_STATE_DIR": "folder for logs of `serve`, what runs, verdicts of `accept`, the ledger",
    "LAUNCH_DEBUG": "`1`: an internal error shows its traceback",
    "NO_COLOR": "not empty: no colours on a terminal",
    "TERM": "`dumb`: no colours and no cursor movement",
    "SHELL": "the shell whose completion is printed when none is named",
    "PATH": "where nvcc is looked for; the engine's `bin` is put in front for the engine",
    "HOME": "where the two next ones are when they are not set",
    "XDG_CACHE_HOME": "the folder that holds ours, without LAUNCH_CACHE_DIR",
    "XDG_STATE_HOME": "the folder that holds ours, without LAUNCH_STATE_DIR",
    "CUDA_VISIBLE_DEVICES": "which cards the probe counts",
    "CUDA_DEVICE_ORDER": "in which order it takes them",
    "VLLM_CACHE_ROOT": "where `doctor` looks for compiled kernels",
    "PYTHONPATH": "where `doctor` looks for a second engine",
}
"""Variables that are no knobs and that the product itself reads."""


def knobs_page(links: Links) -> list[str]:
    """Every knob."""
    knobs = links.rules.knobs
    out = ["# Knobs", "", made_from(links.source("rules/knobs.yaml")), ""]
    out += [
        f"{len(knobs)} knobs. Each is given as `KNOB=value` on the command line, in the environment, in an `--env-file`, or by the",
        "profile, in this order of precedence. `launch.py knobs NAME` says the same on a terminal.",
        "",
    ]
    out += table(
        ("knob", "default", "what it is"),
        ((links.to("knob", k.env), _default(k), plain(k.help)) for k in knobs.values()),
    )
    for knob in knobs.values():
        rows = [("type", _type(knob)), ("default", _default(knob))]
        if knob.empty_means:
            rows.append(("empty means", plain(knob.empty_means)))
        if knob.exported:
            rows.append(("also", "a variable that the engine itself reads"))
        if knob.sets:
            rows.append(("sets", ", ".join(links.to("setting", name) for name in knob.sets)))
        if knob.explicit_matters:
            rows.append(("given or not", plain(knob.explicit_matters)))
        readers = ", ".join(_readers(links, knob.name))
        if readers:
            rows.append(("read by", readers))
        if knob.figures:
            rows.append(("figures", links.figures(knob.figures)))
        origins = tuple(filter(None, (*knob.origins, knob.invalid_origin)))
        if origins:
            rows.append(("origin", links.origins(origins)))
        out += [f"## {code(knob.env)}", "", plain(knob.help) + ".", "", *table(("", ""), rows)]
    return out


def _type(knob: Knob) -> str:
    words = knob.type
    if knob.allowed:
        words += ": " + ", ".join(code(value) for value in knob.allowed)
    if knob.minimum is not None:
        words += f", {knob.minimum} or more"
    if knob.maximum is not None:
        words += f", at most {knob.maximum}"
    return words


def _default(knob: Knob) -> str:
    return code(knob.default) if knob.default is not None else plain(knob.default_says or "none")


def _readers(links: Links, name: str) -> Iterator[str]:
    """Rules that read a knob; arms are left out, for their page says it."""
    for guard in links.rules.guards.values():
        if guard.arm is None and any(leaf.name.partition(".")[0] == name for leaf in leaves(guard.when)):
            yield links.to("guard", guard.id)
    for setting in links.rules.settings.values():
        read = {n for row in setting.rows for n in names_in(row.value)}
        read |= {leaf.name for row in setting.rows for leaf in leaves(row.when)}
        if setting.name != "arm" and any(n.partition(".")[0] == name for n in read):
            yield links.to("setting", setting.name)


def environment_page(links: Links) -> list[str]:
    """Every variable that is read or set."""
    out = [
        "# Environment variables",
        "",
        made_from(links.source("rules/knobs.yaml") + " and " + links.source("rules/render.yaml")),
        "",
    ]
    out += ["## Read by the launcher", ""]
    out += table(
        ("variable", "type", "default", "what it is"),
        ((links.to("knob", k.env), k.type, _default(k), plain(k.help)) for k in links.rules.knobs.values()),
    )
    out += table(("variable", "what it does"), ((code(name), text) for name, text in OWN.items()))
    out += ["## Set or removed for the engine", ""]
    out += ["What is not named here reaches the engine as the caller has it.", ""]
    out += table(
        ("variable", "what becomes of it", "origin"),
        (
            (
                code(v.name),
                f"set to {links.to('setting', v.source)}"
                if v.source
                else f"removed with {links.to('setting', v.unset or '')}",
                links.origins(v.origins),
            )
            for v in links.rules.variables.values()
        ),
    )
    return out
