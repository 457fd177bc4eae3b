"""No false alarms: rule bases that are clean by how they are made give no finding; the same bases with one change give the right one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from resolver.analysis import Finding, findings
from resolver.analysis.finding import KINDS
from resolver.analysis.questions import QUESTIONS
from resolver.compile import open_resolver, product_root
from tests.check import base
from tests.check.generate import generate

COUNT = 200


def found(folder: Path, data: base.Data) -> list[Finding]:
    """The findings, but for the examples of generated guards, which are placeholders."""
    base.write(folder, data)
    return [f for f in findings(base.load(folder)) if not (f.kind == "example" and f.rule.startswith("guard-"))]


@pytest.mark.parametrize("part", range(4))
def test_generated_clean_rules_have_no_finding(part: int, tmp_path: Path) -> None:
    for seed in range(part, COUNT, 4):
        assert found(tmp_path / str(seed), generate(seed)) == [], seed


def test_generated_rules_differ() -> None:
    assert len({str(generate(seed)) for seed in range(COUNT)}) == COUNT


@pytest.mark.parametrize("seed", range(20))
def test_one_change_is_noticed(seed: int, tmp_path: Path) -> None:
    """A row doubled under itself is shadowed, and a guard said twice is the same: the bases are not clean because nothing is looked at."""
    data = generate(seed)
    chance = random.Random(seed)
    name = chance.choice(
        [n for n in data["settings"] if n.startswith("setting_") and len(data["settings"][n]["first"]) > 1]
    )
    rows = data["settings"][name]["first"]
    at = chance.randrange(len(rows) - 1)
    rows.insert(at + 1, {**rows[at], "value": 4242})
    guard = chance.choice([g for g in data["guards"] if g.startswith("guard-")])
    data["guards"]["again"] = {**data["guards"][guard]}
    kinds = {(f.kind, f.rule) for f in found(tmp_path, data)}
    assert ("shadowed", f"{name}[{at + 2}]") in kinds
    assert ("same", guard) in kinds


def test_the_shipped_rules_have_no_finding_that_is_not_accepted() -> None:
    assert [str(f.position) + " " + f.message for f in findings(open_resolver()) if not f.accepted] == []


def test_the_page_names_every_kind_of_finding() -> None:
    page = (product_root() / "docs" / "checking-rules.md").read_text(encoding="utf-8")
    for kind, what in KINDS.items():
        assert f"| {kind} | " in page, what
    assert all(f"--{question} " in page for question in (*QUESTIONS, "equivalent"))
