"""The pages of the machines, the engines and the figures."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.engine import DEFAULT_VERSION, overlays, versions
from resolver.machines import load_machine, names
from resolver.views.figures import links as quoted_by
from resolver.views.figures import quality_text, setup_text, value_text
from resolver.views.reference.links import Links, stem
from resolver.views.reference.markdown import anchor, code, made_from, plain, table
from resolver.yaml12 import read


def machines_page(links: Links) -> list[str]:
    """Every machine file that comes with the product."""
    root = links.resolver.root
    out = ["# Machines", "", made_from("`rules/machines/`"), ""]
    out += [
        "Machines to resolve for without having them: `launch.py resolve --machine NAME`. `launch.py machines this` shows what is known",
        "of the machine it runs on. A file of the same form may stand anywhere: `--machine FILE`.",
        "",
    ]
    for name in names(root):
        file = f"rules/machines/{name}.yaml"
        about, machine = read(root / file, file).data, load_machine(root, name)
        engine = links.resolver.engine_of(machine).name
        rows = [
            (code(k), code(", ".join(map(str, v)) if isinstance(v, tuple) else str(v)))
            for k, v in machine.facts.items()
            if v is not None
        ]
        out += [
            f"## {code(name)}",
            "",
            f"{plain(about['machine']['title'])}: {links.source(file)}.",
            "",
            plain(about["machine"]["source"]),
            "",
        ]
        out += table(("fact", "value"), [*rows, ("engine", code(engine))])
    return out


def engines_page(links: Links) -> list[str]:
    """Every known version of vLLM, and the overlays."""
    resolver, root = links.resolver, links.resolver.root
    out = ["# Engines", "", made_from("`rules/engines/`"), ""]
    out += ["## Versions", ""]
    rows = []
    for version in versions(root):
        engine = resolver.engine(version)
        name = version + (" (default)" if version == DEFAULT_VERSION else "")
        known = "known" if engine.attention is not None else "unknown"
        rows.append(
            (
                f"{anchor(version)}{links.source(f'rules/engines/vllm-{version}.json')} {name}",
                str(len(engine.flags)),
                str(len(engine.variables)),
                known,
            )
        )
    out += table(("version", "flags", "variables", "support of attention backends"), rows)
    out += [
        "`launch.py check --engine VERSION` says what a move to a version breaks or changes.",
        "",
        "## Overlays",
        "",
    ]
    for name in overlays(root):
        file = f"rules/engines/overlays/{name}.yaml"
        data = read(root / file, file).data
        out += [f"### {code(name)}", "", plain(data["source"]) + ".", ""]
        brings = data["brings"]
        rows_ = [("file", links.source(file)), ("for vLLM", ", ".join(data["engine"]))]
        rows_ += [("plugin", code(data["plugin"]))] if "plugin" in data else []
        rows_ += [(f"choices of {code(k)}", ", ".join(map(code, v))) for k, v in brings.get("choices", {}).items()]
        rows_ += [(code(k), plain(str(v))) for k, v in brings.get("variables", {}).items()]
        rows_ += [
            (
                "attention",
                code(f"{a['backend']} on {a['kv_cache_dtype']}") + f", compute capability {', '.join(a['capability'])}",
            )
            for a in brings.get("attention", [])
        ]
        rows_ += [
            (f"refuses {code(r['backend'])}", f"{plain(r['refuse'])}: {plain(r['fix'])}")
            for r in brings.get("refusals", [])
        ]
        out += table(("", ""), rows_)
    return out


def figure_pages(links: Links) -> Iterator[tuple[str, list[str]]]:
    """A page for each file of figures."""
    quotes = quoted_by(links.rules)
    files = dict.fromkeys(f.position.file for f in links.evidence.figures.values())
    for file in files:
        page = f"figures/{stem(file).removeprefix('figures-')}.md"
        yield page, _figures(links.on(page), file, quotes)


def _figures(links: Links, file: str, quotes: dict[str, list[str]]) -> list[str]:
    found = [f for f in links.evidence.figures.values() if f.position.file == file]
    out = [f"# Figures: {stem(file).removeprefix('figures-')}", "", made_from(links.source(file)), ""]
    out += [
        f"{len(found)} figures. What a source does not state is unknown. The words: [README.md]({links.path('README.md')}#figures).",
        "",
    ]
    for metric in dict.fromkeys(f.metric for f in found):
        out += [f"## {code(metric)}", "", plain(links.evidence.metrics[metric]["means"]) + ".", ""]
        rows = []
        for f in (f for f in found if f.metric == metric):
            others = [f"superseded by {links.to('figure', f.superseded_by)}" if f.superseded_by else quality_text(f)]
            others += [f"compares with {links.to('figure', f.compares_with)}"] if f.compares_with else []
            others += [f"contradicts {links.to('figure', id)}" for id in links.evidence.contradicting(f)]
            rows.append(
                (
                    f"{anchor(f.id)}{code(f.id)}",
                    value_text(f),
                    plain(setup_text(f)),
                    f.hardware or "unknown",
                    f.engine or "unknown",
                    f.date or "unknown",
                    "; ".join(others),
                    plain(f.note or ""),
                    ", ".join(_quoting(links, quotes.get(f.id, []))),
                )
            )
        out += table(
            ("figure", "value", "what was running", "hardware", "engine", "date", "quality", "note", "quoted by"), rows
        )
    return out


def _quoting(links: Links, who: list[str]) -> Iterator[str]:
    for text in who:
        kind, name = text.split(" ")[:2]
        yield links.to({"row": "setting"}.get(kind, kind), name)
