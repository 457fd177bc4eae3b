"""`check --sarif`: each finding at its place, with its kind, and accepted ones suppressed; the shape is that of SARIF 2.1.0."""

from __future__ import annotations

from typing import Any

from resolver.analysis.finding import KINDS, Finding, Witness
from resolver.diagnostics import Position
from resolver.views.sarif import sarif

PLACE = Position("rules/memory.yaml", 7, 3)


def one(**more: Any) -> dict[str, Any]:
    finding = Finding("dead", "x[1]", "x[1] can never hold", PLACE, "remove it", **more)
    result: dict[str, Any] = sarif([finding])["runs"][0]["results"][0]
    return result


def test_a_finding_has_its_place_kind_and_fix() -> None:
    result = one()
    assert result["ruleId"] == "dead"
    assert result["message"]["text"] == "x[1] can never hold; remove it"
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "rules/memory.yaml"},
                "region": {"startLine": 7, "startColumn": 3},
            }
        }
    ]
    assert "suppressions" not in result
    assert "relatedLocations" not in result


def test_the_index_points_to_the_kind() -> None:
    for kind in KINDS:
        run = sarif([Finding(kind, "x", "m", PLACE, "f")])["runs"][0]
        assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == kind


def test_witness_other_places_and_acceptance_are_kept() -> None:
    result = one(
        witness=Witness({"knobs": {"CTX": "fast"}}, "another row wins"), others=(PLACE,), accepted="on purpose"
    )
    assert result["properties"]["witness"] == {"request": {"knobs": {"CTX": "fast"}}, "shows": "another row wins"}
    assert result["relatedLocations"] == result["locations"]
    assert result["suppressions"] == [{"kind": "external", "justification": "on purpose"}]


def test_a_file_without_a_line_has_no_region() -> None:
    finding = Finding("accepted", "x", "m", Position("rules/accepted_findings.yaml", 0, 0), "f")
    place = sarif([finding])["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert "region" not in place
