"""Figures beside their arm in profiles.yaml: read, shown as measured, and every mistake in them told with its place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from resolver.analysis import documents
from resolver.compile import product_root
from resolver.diagnostics import RulesError
from resolver.load import profiles, schema
from resolver.load.collect import Collector
from resolver.model import Arm
from resolver.views.evidence import Evidence, read_evidence
from resolver.yaml12 import Document, parse

ROOT = product_root()
TEXT = """\
profiles: {}
arms:
  first:
    help: x
    when: {gpu.capability: ["8.6", "12.0"]}
    sets: {attention_backend: CUSTOM}
    measured: {"8.6": RTX 3090}
    figures: [l-mtp-fast-default]
    evidence:
      - {id: mine, metric: ratio, value: 2, unit: x, hardware: RTX 3090 24 GB, capability: "8.6", engine: "0.31.0", date: "2026-12-01"}
      - {id: other, metric: ratio, value: 2, unit: x, hardware: 2x RTX 5090 32 GB, capability: "12.0", engine: "0.31.0", date: "2026-12-01"}
    examples: &examples {taken: [{profile: a}], passed_over: [{profile: b}]}
  second:
    help: x
    when: {device: cpu}
    sets: {attention_backend: CPU_ATTN}
    figures: other
    evidence:
      - {id: cpu, metric: ratio, min: 1, max: 2, unit: x, hardware: some CPU, capability: none, engine: "0.31.0", date: "2026-12-01", quality: derived, source: measure}
    examples: {taken: [{profile: a}], passed_over: [{profile: b}]}
""".replace("&examples ", "")


def document(text: str = TEXT) -> Document:
    found = parse(text, "profiles.yaml")
    schema.validate(found, ROOT / "rules" / "schema" / "profiles.json")
    return found


def arms(text: str = TEXT) -> dict[str, Arm]:
    collect = Collector()
    found, _ = profiles.read_arms(document(text), collect)
    collect.finish()
    return found


def evidence(text: str = TEXT) -> Evidence:
    return read_evidence(ROOT, document(text))


def test_they_are_figures_like_others() -> None:
    found = evidence().figures
    assert len(found) > 1892
    mine = found["mine"]
    assert (mine.arm, mine.value, mine.quality, mine.source) == ("first", 2, "measured", "arm")
    assert str(mine.position) == "profiles.yaml:10:9"
    assert (found["cpu"].low, found["cpu"].high, found["cpu"].quality) == (1, 2, "derived")


def test_hardware_that_is_new_brings_its_capability() -> None:
    read = evidence()
    assert read.capability(read.figures["other"]) == "12.0"
    assert read.hardware["2x RTX 5090 32 GB"]["gpus"] == 2
    assert read.capability(read.figures["cpu"]) is None
    assert read.hardware["some CPU"]["gpus"] == 0


def test_an_arm_is_measured_where_its_own_figures_show_it() -> None:
    found = arms()
    assert found["first"].measured == {"8.6": "RTX 3090", "12.0": "2x RTX 5090 32 GB"}
    assert found["first"].figures == ("l-mtp-fast-default", "mine", "other")
    assert found["second"].measured == {}
    assert found["second"].figures == ("other", "cpu")


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("{id: mine,", "{id: l-mtp-fast-default,", "10:14", "l-mtp-fast-default is there twice"),
        ("{id: other,", "{id: mine,", "11:14", "mine is there twice"),
        ("{id: cpu,", "{id: mine,", "19:14", "the figure mine stands beside first already"),
        ('capability: "8.6", engine', 'capability: "8.9", engine', "10:", "measured on 8.9, which its `when` does not"),
        ("[l-mtp-fast-default]", "[x, x]", "8:18", "x is there twice"),
    ],
)
def test_what_contradicts_itself_is_an_error_of_the_rules(old: str, new: str, place: str, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        arms(TEXT.replace(old, new))
    assert any(
        str(d.position).startswith(f"profiles.yaml:{place}") and said in d.message for d in caught.value.diagnostics
    )


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("metric: ratio, value: 2", "metric: speed, value: 2", "10:9", "'speed' is not among the metrics"),
        ("value: 2, unit: x", "value: 2, unit: GB", "10:9", "ratio is in x, not in GB"),
        ("{id: mine,", "{id: l-mtp-fast-greedy,", "10:9", "l-mtp-fast-greedy is there twice: first at rules/evidence/"),
        ("[l-mtp-fast-default]", "[l-mtp-fast-defoult]", "8:15", "there is no figure 'l-mtp-fast-defoult'"),
        ("figures: other", "figures: nothing", "17:14", "second: there is no figure 'nothing'"),
        ('capability: "8.6", engine', 'capability: "12.0", engine', "10:92", "RTX 3090 24 GB has 8.6, not 12.0"),
        ("source: measure}", "source: hearsay}", "19:9", "'hearsay' is not among the sources"),
        ("source: measure}", "source: measure, contradicts: [gone]}", "19:9", "there is no figure 'gone'"),
        ("quality: derived", "quality: superseded", "19:9", "says by which one"),
    ],
)
def test_what_does_not_fit_the_other_figures_is_an_error_of_the_evidence(
    old: str, new: str, place: str, said: str
) -> None:
    with pytest.raises(RulesError) as caught:
        evidence(TEXT.replace(old, new, 1))
    (found,) = caught.value.diagnostics
    assert str(found.position).startswith(f"profiles.yaml:{place}"), found
    assert said in found.message


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("{id: mine, metric: ratio,", "{id: mine, metric: ratio, metrik: x,", "10:35", "unknown key 'metrik'"),
        (', engine: "0.31.0", date: "2026-12-01"}', ', engine: "0.31.0"}', "10:9", "missing key 'date'"),
        ('capability: "8.6", engine', "engine", "10:9", "missing key 'capability'"),
        ("value: 2, unit: x, hardware: RTX", "unit: x, hardware: RTX", "10:9", "needs exactly one of value"),
        (
            "value: 2, unit: x, hardware: RTX",
            "value: two, unit: x, hardware: RTX",
            "10:42",
            "expected a number, found text",
        ),
        ('date: "2026-12-01"}', 'date: "1 December"}', "10:", "does not look as it must"),
        ("source: measure}", "source: measure, provenance: {configuration: abc}}", "19:", "does not look as it must"),
        ("source: measure}", "source: measure, provenance: {hostname: abc}}", "19:", "unknown key 'hostname'"),
    ],
)
def test_what_is_misspelt_is_found_by_the_schema(old: str, new: str, place: str, said: str) -> None:
    with pytest.raises(RulesError) as caught:
        document(TEXT.replace(old, new, 1))
    (found,) = caught.value.diagnostics
    assert str(found.position).startswith(f"profiles.yaml:{place}"), found
    assert said in found.message


def test_both_schemas_know_the_same_parts_of_a_figure() -> None:
    import json

    folder = Path(ROOT / "rules" / "schema")
    figure = json.loads((folder / "figures.json").read_text())["properties"]["figures"]["items"]
    arm = json.loads((folder / "profiles.json").read_text())["properties"]["arms"]["additionalProperties"]
    beside = arm["properties"]["evidence"]["items"]
    assert set(beside["properties"]) - set(figure["properties"]) == {"capability"}
    for name, part in figure["properties"].items():
        if name != "setup":
            assert beside["properties"][name] == part, name
    setups = [one["properties"]["setup"]["properties"] for one in (figure, beside)]
    assert setups[0].keys() == setups[1].keys()
    assert all(setups[0][name] == setups[1][name] for name in setups[0] if name != "knobs")


def test_check_finds_them(tmp_path: Path) -> None:
    (tmp_path / "rules").symlink_to(ROOT / "rules")
    (tmp_path / "profiles.yaml").write_text(TEXT.replace("metric: ratio, value: 2", "metric: speed, value: 2", 1))
    (finding,) = documents.evidence(SimpleNamespace(root=tmp_path))  # type: ignore[arg-type]
    assert (finding.kind, str(finding.position)) == ("figures", "profiles.yaml:10:9")
    assert "'speed' is not among the metrics" in finding.message
    (tmp_path / "profiles.yaml").write_text(TEXT)
    assert list(documents.evidence(SimpleNamespace(root=tmp_path))) == []  # type: ignore[arg-type]
