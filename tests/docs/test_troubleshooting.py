"""Every hazard on the troubleshooting page says what to do, and every command that it names is there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from resolver.cli.dispatch import COMMANDS
from resolver.compile import open_resolver, product_root
from resolver.measure.session import MODULES
from resolver.views.evidence import load_evidence
from resolver.views.hazards import read_hazards
from resolver.views.reference.findings import findings
from resolver.views.reference.links import Links
from resolver.views.reference.remedies import command_of, fix_of, remedy

ROOT = product_root()
HAZARDS, WHERE = read_hazards(ROOT)
PLACES: dict[str, dict[str, Any]] = WHERE["places"]


@pytest.fixture(scope="module")
def links() -> Links:
    return Links(open_resolver(ROOT), load_evidence(ROOT), "../troubleshooting.md")


def done(links: Links, id: str) -> str:
    hazard = next(h for h in HAZARDS["hazards"] if h["id"] == id)
    return remedy(links, hazard, PLACES[id], {found.id: found.fix for found in findings(ROOT)})


def test_every_hazard_has_something_to_do_or_says_why_not(links: Links) -> None:
    for hazard in HAZARDS["hazards"]:
        said = done(links, hazard["id"])
        assert len(said) > 8, hazard["id"]
        assert "{" not in re.sub(r"`[^`]+`", "", said), said
        for id in PLACES[hazard["id"]].get("guard", ()):
            fix = fix_of(links, links.rules.guards[id])
            assert fix in said, (hazard["id"], id)


def test_every_row_of_the_page_has_it(links: Links) -> None:
    lines = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8").splitlines()
    for hazard in HAZARDS["hazards"]:
        (row,) = [line for line in lines if line.startswith("| [") and f"reference/hazards.md#{hazard['id']})" in line]
        assert done(links, hazard["id"]).replace("|", "\\|") in row


def test_the_commands_exist(links: Links) -> None:
    said = " ".join(done(links, hazard["id"]) for hazard in HAZARDS["hazards"])
    named = re.findall(r"`launch\.py ([^`]+)`", said)
    assert len(named) > 40
    for words in (command.split() for command in named):
        assert words[0] in COMMANDS, words
        assert all(word in MODULES for word in words[1:] if words[0] == "measure" and word.islower() and word[0] != "-")


@pytest.mark.parametrize(
    ("id", "parts"),
    [
        ("pth-and-fa2-both-explicit", ("unset FA2", "or unset PTH", "refuses it")),
        ("int4-k15-default-length-refused", ("set `DFLASH_TOKENS=7`",)),
        ("fa2-plugin-not-installed", ("install", "refuses it")),
        ("gpu-util-090-default-refused-on-028", ("set `GPU_UTIL=0.93`", "warns of it")),
        ("unknown-ctx-or-spec-value", ("nothing: ", "take no such value")),
        ("client-bytes-break-prefix", ("keep prefixes byte-stable", "left out here: about clients")),
        ("residue-sampling-misses", ("`launch.py measure residues`",)),
        ("health-ok-while-engine-dead", ("`launch.py serve`",)),
    ],
)
def test_what_it_says(links: Links, id: str, parts: tuple[str, ...]) -> None:
    assert [part for part in parts if part not in done(links, id)] == []


def test_the_command_of_a_place() -> None:
    assert command_of("resolver.serving.accept.tool_call:run") == "launch.py accept"
    assert command_of("resolver.measure.residue_sweep:run") == "launch.py measure residues"
    assert command_of("resolver.measure.matrix_file:load") == "launch.py measure --matrix FILE"
    assert command_of("resolver.measure.stream:read") == "launch.py measure"
