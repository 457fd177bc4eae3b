"""A page for each rule file: its guards and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resolver.model import Example, Guard, Rules, Setting
from resolver.views.reference.links import Links, subject_page
from resolver.views.reference.markdown import code, made_from, plain, table
from resolver.yaml12 import read

SEVERITY = {"refuse": "refuses", "warn": "warns", "note": "notes"}


def pages(links: Links) -> Iterator[tuple[str, list[str]]]:
    """Path below docs/reference and lines of every page."""
    for file in files_of(links.rules):
        yield subject_page(file), _page(links.on(subject_page(file)), file)


def files_of(rules: Rules) -> list[str]:
    """The files that hold guards or settings, by name."""
    things: list[Guard | Setting] = [*rules.guards.values(), *rules.settings.values()]
    return sorted({thing.position.file for thing in things})


def _page(links: Links, file: str) -> list[str]:
    guards = [g for g in links.rules.guards.values() if g.position.file == file]
    settings = [s for s in links.rules.settings.values() if s.position.file == file and s.name != "arm"]
    out = [f"# Rules: {file}", "", made_from(links.source(file)), ""]
    if file == "profiles.yaml":
        out += [f"What arms need once they are taken. The arms: [arms.md]({links.path('arms.md')}).", ""]
    counts = [f"{len(guards)} guards" if guards else "", f"{len(settings)} settings" if settings else ""]
    out += [" and ".join(filter(None, counts)) + ".", ""]
    if guards:
        out += ["## Guards", ""]
        out += table(
            ("guard", "", "what it says"), ((links.to("guard", g.id), g.severity, plain(g.reason)) for g in guards)
        )
    for guard in guards:
        out += _guard(links, guard)
    if settings:
        out += ["## Settings", ""]
        values = read(links.resolver.root / file, file).data.get("settings", {})
        for setting in settings:
            out += (
                _setting(links, setting, values[setting.name]) if setting.name in values else _by_arms(links, setting)
            )
    return out


def _guard(links: Links, guard: Guard) -> list[str]:
    rows: list[tuple[str, str]] = [(SEVERITY[guard.severity], plain(guard.reason))]
    if guard.arm:
        rows.append(("arm", links.to("arm", guard.arm)))
    rows.append(("when", links.condition(guard.when)))
    if guard.fix:
        rows.append(("fix", plain(guard.fix)))
    if guard.instead:
        rows.append(("instead", "; ".join(_way(links, way) for way in guard.instead)))
    rows += [(word, f"vLLM {version}") for word in ("since", "until") if (version := getattr(guard, word))]
    rows += _evidence(links, guard.figures, guard.origins)
    rows += [("fires", example(links, e)) for e in guard.fires]
    rows += [("silent", example(links, e)) for e in guard.silent]
    return [f"### {code(guard.id)}", "", *table(("", ""), rows)]


def _way(links: Links, way: Any) -> str:
    parts = []
    for name, value in way.items():
        variable = links.rules.knobs[name].env
        parts.append(code(f"{variable}={value}") if value is not None else f"{code(variable)} unset")
    return " and ".join(parts)


def _evidence(links: Links, figures: tuple[str, ...], origins: tuple[str, ...]) -> list[tuple[str, str]]:
    rows = [("figures", links.figures(figures))] if figures else []
    return rows + ([("origin", links.origins(origins))] if origins else [])


def _setting(links: Links, setting: Setting, values: Any) -> list[str]:
    out = [f"### {code(setting.name)}", ""]
    about = [plain(setting.help)] if setting.help else []
    if setting.origins:
        about.append(f"origin {links.origins(setting.origins)}")
    if about:
        out += ["; ".join(about) + ".", ""]
    rows = []
    for number, (row, typed) in enumerate(zip(setting.rows, values["first"], strict=True)):
        value = typed.get("value")
        because = [plain(row.because)] if row.because else []
        because += [links.figures(row.figures)] if row.figures else []
        because += [links.origins(row.origins)] if row.origins else []
        when = links.condition(row.when) if "when" in typed else "otherwise"
        rows.append((str(number), when, code("null" if value is None else str(value)), "; ".join(because)))
    return [*out, *table(("row", "when", "value", "because"), rows)]


def _by_arms(links: Links, setting: Setting) -> list[str]:
    """A setting that arms define."""
    arms = read(links.resolver.root / "profiles.yaml", "profiles.yaml").data["arms"]
    typed = {name: arm["sets"][setting.name] for name, arm in arms.items() if setting.name in arm.get("sets", {})}
    out = [f"### {code(setting.name)}", "", "Defined by the arm that is taken.", ""]
    return [*out, *table(("arm", "value"), ((links.to("arm", arm), code(str(value))) for arm, value in typed.items()))]


def example(links: Links, asked: Example) -> str:
    """An example as the words that ask for it."""
    knobs = links.rules.knobs
    words = [f"--profile {asked.profile}"] if asked.profile else []
    words += [f"--machine {asked.machine}"] if asked.machine else []
    words += [f"--engine {asked.engine}"] if asked.engine else []
    words += [f"{knobs[name].env if name in knobs else name}={text}" for name, text in asked.knobs.items()]
    words += ["--", *asked.args] if asked.args else []
    facts = [f"{name} = {value}" for name, value in asked.with_facts.items()]
    return code(" ".join(words) or "nothing") + (f" where {code(', '.join(facts))}" if facts else "")
