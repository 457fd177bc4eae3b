"""The figures: complete, linked, and honest about which GPU each arm was measured on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver import files
from resolver.compile import open_resolver, product_root
from resolver.diagnostics import RulesError, UsageError
from resolver.load import schema
from resolver.machines import load_machine
from resolver.model import Rules
from resolver.request import build
from resolver.resolve import Resolver
from resolver.views import evidence as reading
from resolver.views import figures as view
from resolver.views.evidence import Evidence, load_evidence
from resolver.yaml12 import read

ROOT = product_root()
FOLDER = ROOT / "rules" / "evidence"


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return load_evidence(ROOT)


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@pytest.fixture(scope="module")
def rules(resolver: Resolver) -> Rules:
    return resolver.rules


def unlinked() -> dict[str, str]:
    document = read(FOLDER / "unlinked.yaml")
    schema.validate(document, ROOT / "rules" / "schema" / "figures.json")
    return {id: item["why"] for item in document.data["unlinked"] for id in item["ids"]}


def test_all_figures_are_there(evidence: Evidence) -> None:
    assert len(evidence.figures) >= 1892
    assert sum(f.source == "launcher" for f in evidence.figures.values()) >= 206


def test_every_file_names_its_schema() -> None:
    for path in FOLDER.glob("*.yaml"):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        assert first.startswith("# yaml-language-server: $schema=../schema/"), path.name
        assert (FOLDER / first.partition("=")[2]).is_file(), path.name


def test_what_is_quoted_exists(evidence: Evidence, rules: Rules) -> None:
    assert {id: who for id, who in view.links(rules).items() if id not in evidence.figures} == {}


def test_every_figure_of_the_launcher_is_quoted_or_says_why_not(evidence: Evidence, rules: Rules) -> None:
    quoted, listed = view.links(rules), unlinked()
    launcher = {f.id for f in evidence.figures.values() if f.source == "launcher"}
    assert launcher - quoted.keys() - listed.keys() == set()
    assert listed.keys() <= launcher, "unlinked.yaml lists figures of the launcher only"
    assert listed.keys() & quoted.keys() == set(), "quoted after all: take it out of unlinked.yaml"
    assert len(listed) <= 40


def test_measured_is_what_figures_show(evidence: Evidence, rules: Rules) -> None:
    for arm in rules.arms.values():
        assert bool(arm.measured) == bool(arm.figures), f"{arm.name}: measured and figures go together"
        names = [evidence.figures[id].hardware for id in arm.figures]
        for capability, gpus in arm.measured.items():
            for gpu in gpus.split(", "):
                fits = [
                    n for n in names if n and n.startswith(gpu) and evidence.hardware[n].get("capability") == capability
                ]
                assert fits, f"{arm.name}: no figure of {gpu} ({capability})"


def test_figures_of_an_arm_do_not_speak_of_another(evidence: Evidence, rules: Rules) -> None:
    for arm in rules.arms.values():
        spec = arm.name.split("-")[0]
        for id in arm.figures:
            assert evidence.figures[id].setup.get("spec", spec) == spec, f"{arm.name}: {id}"


def test_a_superseded_figure_says_by_what(evidence: Evidence) -> None:
    old = [f for f in evidence.figures.values() if f.quality == "superseded"]
    assert len(old) >= 35
    for f in old:
        assert f.superseded_by in evidence.figures
        assert f.superseded_by in view.quality_text(f)


def test_contradictions_are_seen_from_both_sides(evidence: Evidence) -> None:
    for f in evidence.figures.values():
        for other in f.contradicts:
            assert f.id in evidence.contradicting(evidence.figures[other])


def test_both_sides_of_a_contradiction_are_shown(evidence: Evidence, rules: Rules) -> None:
    asked = [evidence.figures["v31-huge-two-inflight"]]
    shown = [cells[0].strip() for cells in view.rows(evidence, asked)]
    assert shown == ["v31-huge-two-inflight", "against l-ret-sparse-reuse"]


def test_what_is_shown_always(evidence: Evidence, rules: Rules) -> None:
    where = {name: view.HEAD.index(name) for name in ("hardware", "engine", "date", "quality", "source", "value")}
    for f in evidence.figures.values():
        cells = view.row(f)
        assert all(cells[i] for i in where.values()), f.id
        data = view.as_json(evidence, {}, f)
        assert {"hardware", "engine", "date", "quality", "source", "unit", "value"} <= data.keys()
        json.dumps(data)


@pytest.mark.parametrize(
    ("wanted", "some", "none_of"),
    [
        (view.Wanted(arm="dflash2-long-custom-int8"), "l-dflash2-128k-decode-pth", "l-dflash2-128k-decode-fa2"),
        (view.Wanted(metric="kv_pool_tokens"), "l-fa2-fp8-pool", "l-dflash2-128k-decode-fa2"),
        (view.Wanted(hardware="8.9"), "w-long-prose", "l-fa2-fp8-pool"),
        (view.Wanted(hardware="rtx 3080"), "l-dflash2-128k-decode-fa2", "l-fa2-fp8-pool"),
        (view.Wanted(context="112k"), "l-kvarn-decode-112k", "l-nospec-c1"),
        (view.Wanted(context="huge"), "l-kvarn-decode-112k", "l-fp8-decode-112k"),
        (view.Wanted(engine="0.31"), "l-dflash2-128k-decode-fa2", "l-fa2-fp8-pool"),
        (view.Wanted(knob="DYNAMIC_K"), "l-dynamic-k-c4", "l-nospec-c1"),
        (view.Wanted(knob="backend"), None, "l-nospec-c1"),
    ],
)
def test_filters(evidence: Evidence, rules: Rules, wanted: view.Wanted, some: str | None, none_of: str) -> None:
    found = [f.id for f in view.select(rules, evidence, wanted)]
    assert some is None or some in found
    assert none_of not in found


@pytest.mark.parametrize(
    "wanted",
    [
        view.Wanted(arm="dflash2-lung"),
        view.Wanted(metric="decode"),
        view.Wanted(hardware="TPU"),
        view.Wanted(context="deep"),
        view.Wanted(knob="NOPE"),
    ],
)
def test_a_word_that_nothing_has_is_an_error_with_a_way_out(
    evidence: Evidence, rules: Rules, wanted: view.Wanted
) -> None:
    with pytest.raises(UsageError) as caught:
        view.select(rules, evidence, wanted)
    assert caught.value.fix


def test_broken_figures_are_named_with_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCH_CACHE_DIR", "")
    folder = tmp_path / "rules" / "evidence"
    folder.mkdir(parents=True)
    (tmp_path / "rules" / "schema").symlink_to(ROOT / "rules" / "schema")
    (folder / "vocabulary.yaml").write_text((FOLDER / "vocabulary.yaml").read_text())
    good = "{id: a, metric: ratio, value: 2, unit: x, quality: measured, source: launcher}"
    bad = {
        "{id: b, metric: ratio, value: 2, unit: tok/s, quality: measured, source: launcher}": "is in x, not in tok/s",
        "{id: b, metric: speed, value: 2, unit: x, quality: measured, source: launcher}": "'speed' is not among",
        "{id: b, metric: ratio, unit: x, quality: measured, source: launcher}": "",
        "{id: b, metric: ratio, value: 2, unit: x, quality: superseded, source: launcher}": "says by which one",
        "{id: b, metric: ratio, value: 2, unit: x, quality: measured, source: launcher, contradicts: [z]}": "no figure 'z'",
        good: "is there twice",
    }
    for line, said in bad.items():
        (folder / "figures-x.yaml").write_text(f"figures:\n  - {good}\n  - {line}\n")
        with pytest.raises(RulesError) as caught:
            reading.load_evidence(tmp_path)
        (found,) = caught.value.diagnostics
        assert said in found.message
        assert str(found.position).startswith("rules/evidence/figures-x.yaml:3:")


def test_a_launch_reads_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = files.open_plain
    monkeypatch.setattr(files, "open_plain", lambda path, **how: opened.append(str(path)) or real(path, **how))
    resolver = open_resolver()
    request = build(resolver.rules, resolver.table, profile="dflash2-long")
    assert not resolver.resolve(request, load_machine(ROOT, "rtx-3090")).refused
    assert opened
    assert not [name for name in opened if "evidence" in name]


def test_an_arm_that_nobody_measured_here_is_noted(resolver: Resolver) -> None:
    def rules_of(profile: str, machine: str) -> list[str]:
        request = build(resolver.rules, resolver.table, profile=profile)
        return [d.rule for d in resolver.resolve(request, load_machine(ROOT, machine)).diagnostics]

    name = "arm-not-measured-on-this-gpu"
    assert name not in rules_of("mtp-fast", "rtx-3090")
    assert name not in rules_of("mtp-fast", "rtx-4090")
    assert name in rules_of("mtp-fast", "rtx-5090")
    assert name in rules_of("off-long", "rtx-3090")
    assert name not in rules_of("cpu-tiny", "cpu-only")
