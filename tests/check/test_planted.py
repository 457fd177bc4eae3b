"""Every planted defect is found, at its place, with a request that shows it when it is resolved again from the printed data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from resolver.analysis import Finding, findings
from resolver.diagnostics import RulesError
from resolver.interpret import holds
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from tests.check import base
from tests.check.planted import DEFECTS, Defect


def table_row(rule: str) -> tuple[str, int] | None:
    match = re.fullmatch(r"(\w+)\[(\d+)\]", rule)
    return (match.group(1), int(match.group(2)) - 1) if match else None


def shows(resolver: Resolver, finding: Finding, seen: Resolution) -> bool:
    """Whether the resolution does what a witness of this kind must do. Looked up in the resolution, not in the analyser."""
    fired = {guard.id for guard in seen.fired}
    row = table_row(finding.rule)
    won = None if row is None else seen.state.rows[resolver.number[row[0]]]
    if finding.kind == "dead":
        if row:
            return won != row[1]
        return seen.setting("arm") != finding.rule if finding.rule in resolver.rules.arms else finding.rule not in fired
    if finding.kind in ("shadowed", "unreachable-default", "refused-value") and (
        row or finding.rule in resolver.rules.arms
    ):
        name, at = row or ("arm", list(resolver.rules.arms).index(finding.rule))
        won = seen.state.rows[resolver.number[name]]
        return holds(seen, resolver.rules.settings[name].rows[at].when) and won < at
    if finding.kind == "dead-part":
        return finding.rule in fired or (row is not None and won == row[1])
    if finding.kind == "redundant":
        return row is not None and won == row[1]
    if finding.kind == "masked":
        return (
            finding.rule in fired
            and len([d for d in seen.diagnostics if d.severity == "refuse" and d.rule != finding.rule]) > 0
        )
    if finding.kind == "same":
        return finding.rule in fired or seen.setting(finding.rule) is not None
    if finding.kind == "overlap":
        arm = resolver.rules.arms[finding.rule]
        assert arm.chosen_by is not None
        return (
            holds(seen, arm.when)
            and holds(seen, arm.chosen_by)
            and seen.setting("arm") != finding.rule
            and not seen.refused
        )
    if finding.kind == "gap":
        return seen.setting("arm") is None
    if finding.kind in ("unreachable-default", "refused-value"):
        return seen.refused
    if finding.kind == "version-gap":
        return finding.rule not in fired
    return finding.kind in ("unread", "figures", "untaken")


def names_of(defects: list[Defect]) -> list[str]:
    return [f"{d.kind}-{d.name}" for d in defects]


def test_there_are_enough() -> None:
    assert len(DEFECTS) >= 80
    assert len(set(names_of(DEFECTS))) == len(DEFECTS)


def test_the_rules_without_a_defect_are_clean(tmp_path: Path) -> None:
    base.write(tmp_path, base.clean())
    assert findings(base.load(tmp_path)) == []


@pytest.mark.parametrize("defect", DEFECTS, ids=names_of(DEFECTS))
def test_defect_is_found(defect: Defect, tmp_path: Path) -> None:
    data = base.clean()
    defect.plant(data)
    base.write(tmp_path, data)
    try:
        resolver = base.load(tmp_path)
    except RulesError as error:
        # a value that a knob never has is an error when the rules are read already, with its place
        (said,) = error.diagnostics
        assert defect.kind in ("dead", "dead-part")
        assert "is never" in said.message or "so it is never" in said.message
        assert said.position is not None
        lines = (tmp_path / said.position.file).read_text(encoding="utf-8").splitlines()
        near = lines[said.position.line - 1 : said.position.line + 1]  # the value, or the list that holds it
        assert any(said.message.split("never '")[1].split("'")[0] in line for line in near)
        return
    found = findings(resolver)
    mine = [f for f in found if (f.kind, f.rule) == (defect.kind, defect.rule)]
    assert mine, [f"{f.kind} {f.rule}: {f.message}" for f in found]
    finding = mine[0]
    text = (tmp_path / finding.position.file).read_text(encoding="utf-8").splitlines()[finding.position.line - 1]
    if finding.kind not in ("example", "gap", "accepted") and not table_row(finding.rule):
        assert finding.rule.partition("=")[0] in text
    assert finding.fix
    if finding.kind in ("example", "accepted", "untaken"):
        return
    if defect.name == "of-a-row":
        return
    assert finding.witness is not None, finding.message
    if "with" not in finding.witness.request and finding.rule != "gpu.planted":  # no machine file may hold that fact
        assert shows(resolver, finding, base.replay(resolver, finding.witness.request)), finding.witness


MISSING = {
    "fires": ("guards", "port-flag"),
    "silent": ("guards", "small-gpu"),
    "taken": ("arms", "huge"),
    "passed_over": ("arms", "flash"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_example_is_an_error_with_its_place(kind: str, tmp_path: Path) -> None:
    part, owner = MISSING[kind]
    data = base.clean()
    del data[part][owner]["examples"][kind]
    base.write(tmp_path, data)
    with pytest.raises(RulesError) as caught:
        base.load(tmp_path)
    (said,) = caught.value.diagnostics
    assert f"missing example: {kind}" in said.message
    assert said.position is not None
    line = (tmp_path / said.position.file).read_text(encoding="utf-8").splitlines()[said.position.line - 1]
    assert owner in line


def test_a_default_that_the_knob_does_not_take_is_an_error_with_its_place(tmp_path: Path) -> None:
    data = base.clean()
    data["knobs"]["spec"]["default"] = "ngram"
    base.write(tmp_path, data)
    with pytest.raises(RulesError) as caught:
        base.load(tmp_path)
    assert any(
        "ngram" in said.message and said.position and said.position.file == "rules/knobs.yaml"
        for said in caught.value.diagnostics
    )
