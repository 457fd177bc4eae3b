"""The hazards and where each one went: read rules/evidence/, and write docs/reference/hazards.md.

`python -m resolver.views.hazards` writes the page, `--check` only says whether it is up to date.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolver.views.generated import put_page
from resolver.views.reference.markdown import anchor

if TYPE_CHECKING:
    from resolver.views.reference.links import Links

PAGE = "docs/reference/hazards.md"
ORDER = ("corrupts", "insecure", "crashes", "hangs", "refuses-to-boot", "slow", "ignored")


def read_hazards(root: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two documents: hazards with their words, and kinds with places. Raises RulesError when one does not follow the schema."""
    from resolver.load import schema
    from resolver.yaml12 import read

    found = []
    for name in ("hazards.yaml", "hazard_places.yaml"):
        path = root / "rules" / "evidence" / name
        document = read(path, str(path.relative_to(root)))
        schema.validate(document, root / "rules" / "schema" / "hazards.json")
        found.append(document.data)
    return found[0], found[1]


def counts(places: Mapping[str, Mapping[str, Any]]) -> Counter[str]:
    """How many hazards have a place of each kind; one hazard may have several."""
    return Counter(kind for place in places.values() for kind in place if kind != "note")


def page(root: Path) -> str:
    """The page as Markdown, with links to what it names."""
    from resolver.compile import open_resolver
    from resolver.views.evidence import load_evidence
    from resolver.views.reference.links import Links

    links = Links(open_resolver(root), load_evidence(root), "hazards.md")
    hazards, where = read_hazards(root)
    places = where["places"]
    total = counts(places)
    out = [
        "# Hazards",
        "",
        "Made from `rules/evidence/hazards.yaml` and `hazard_places.yaml` by `python -m resolver.views.hazards`. Do not edit.",
        "",
        f"{len(hazards['hazards'])} ways in which such launches went wrong, and what this product does about each.",
        "",
        "| place | what it means | hazards |",
        "|---|---|---|",
        *(f"| {kind} | {means} | {total[kind]} |" for kind, means in where["kinds"].items()),
    ]
    for severity in ORDER:
        rows = [h for h in hazards["hazards"] if h["severity"] == severity]
        out += ["", f"## {severity}", "", f"{_first_upper(hazards['severities'][severity])}.", ""]
        out += ["| hazard | what happens | status | place | evidence |", "|---|---|---|---|---|"]
        out += [_row(links, h, places[h["id"]]) for h in rows]
    return "\n".join(out) + "\n"


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(links: Links, hazard: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    status = hazard["status"] + (f" {hazard['fixed_in']}" if "fixed_in" in hazard else "")
    evidence = [links.to("figure", id) for id in hazard.get("figures", ())]
    evidence += [f"issue {n}" for n in hazard.get("issues", ())] + [f"vLLM {n}" for n in hazard.get("vllm_issues", ())]
    named = f"{anchor(hazard['id'])}`{hazard['id']}`"
    cells = (named, hazard["happens"], status, _place(links, place), ", ".join(evidence))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _place(links: Links, place: Mapping[str, Any]) -> str:
    if "left-out" in place:
        return f"left out: {place['left-out']}"
    parts = [
        f"{kind} {', '.join(_thing(links, kind, name) for name in names)}"
        for kind, names in place.items()
        if kind != "note"
    ]
    return "; ".join(parts) + (f" ({place['note']})" if "note" in place else "")


def _thing(links: Links, kind: str, name: str) -> str:
    """A link to the guard, setting, arm or knob; what the reference has no page for is named only."""
    if kind == "knob":
        name = links.rules.knobs[name].env
    return links.to({"default": "setting", "requirement": "arm"}.get(kind, kind), name)


def main(arguments: list[str]) -> int:
    """Write the page, or with --check compare it: 1 when it is out of date."""
    root = Path(__file__).resolve().parent.parent.parent
    return put_page(root, PAGE, page(root), "resolver.views.hazards", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
