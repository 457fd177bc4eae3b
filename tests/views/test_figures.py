"""Figures as they are shown: those of a ledger, what is stale, what differs between two, and speed over context as a picture."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from resolver.cli import dispatch
from resolver.compile import product_root
from resolver.diagnostics import Position, UsageError
from resolver.measure import ledger
from resolver.measure.measurement import Measurement
from resolver.measure.provenance import CardState, Provenance, gather
from resolver.measure.rules_hash import rules_hash
from resolver.serving.errors import LaunchError
from resolver.views import figures as view
from resolver.views import figures_compare, figures_plot, figures_stale
from resolver.views.evidence import Evidence, Figure, load_evidence
from resolver.views.figures_ledger import figure_of, with_ledger
from resolver.views.figures_stale import MAYBE, Now
from tests.explain.requests import ask, machine, resolver

ROOT = product_root()
hash_of = lru_cache(rules_hash)


def speed(value: float = 70, context: int = 112000, **more: Any) -> Measurement:
    conditions = {"context": context, "streams": 1, "cache_state": "cold prompt", **more.pop("conditions", {})}
    return Measurement("decode_tok_s", value, "tok/s", 5, conditions=conditions, method="decode", **more)


def on(*words: str, at: str = "2026-12-01T10:00:00Z", machine: str = "rtx-3090", **more: Any) -> Provenance:
    card = CardState(250, {"sm_mhz": 1695}, "580.95.05")
    launch = ask("mtp-long", *(words or ("PTH_FA=0",)), on=machine)
    return replace(
        gather(launch, card=card, rules=hash_of(ROOT, launch.engine.name), plugins={"splitverify": "0.1.0"}, at=at),
        **more,
    )


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return load_evidence(ROOT)


def kept(folder: Path, *pairs: tuple[Measurement, Provenance]) -> ledger.Ledger:
    path = folder / "figures.jsonl"
    for measurement, provenance in pairs:
        ledger.append(path, [measurement], provenance)
    return ledger.read(path)


def figure(folder: Path, measurement: Measurement | None = None, provenance: Provenance | None = None) -> Figure:
    found = kept(folder, (measurement or speed(), provenance or on()))
    return figure_of(found.records[-1], str(found.path))


# the ledger among the figures


def test_a_ledger_stands_before_the_evidence_newest_first(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(1), on(at="2026-11-01T10:00:00Z")), (speed(2), on()), (speed(3), on()))
    both = with_ledger(evidence, book)
    first = list(both.figures.values())[:3]
    assert [f.value for f in first] == [3, 2, 1]
    assert {f.source for f in first} == {"ledger"}
    assert first[0].position == Position(str(book.path), 3, 1)
    assert len(both.figures) == len(evidence.figures) + 3
    assert view.row(first[0])[4:8] == ("RTX 3090 24 GB", "0.31.0", "2026-12-01", "measured")


def test_what_is_evidence_already_is_shown_once_and_knows_its_facts(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(), on()))
    (record,) = book.records
    beside = replace(figure_of(record, "x"), source="measure", provenance={"configuration": "0" * 16})
    known = replace(evidence, figures={**evidence.figures, record.id: beside})
    found = with_ledger(known, book).figures[record.id]
    assert found.source == "measure"
    assert found.provenance["configuration"] == "0" * 16
    assert found.provenance["facts"]["gpu.count"] == 1


def test_new_hardware_brings_its_capability(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(tmp_path, (speed(), on(hardware="H200 140 GB", capability="9.0", gpus=1)))
    both = with_ledger(evidence, book)
    found = next(iter(both.figures.values()))
    assert both.capability(found) == "9.0"
    wanted = view.Wanted(hardware="9.0")
    selected = view.select(resolver().rules, both, wanted)
    assert found in selected
    assert {both.capability(f) for f in selected} == {"9.0"}


def test_filters_reach_the_ledger_by_arm_context_and_words(tmp_path: Path, evidence: Evidence) -> None:
    both = with_ledger(evidence, kept(tmp_path, (speed(context=112648, notes=("odd weather",)), on())))
    found = next(iter(both.figures.values()))

    def select(**wanted: str) -> list[str]:
        return [f.id for f in view.select(resolver().rules, both, view.Wanted(**wanted))]

    assert found.id in select(arm="mtp-long-fp8")
    assert found.id not in select(arm="mtp-long-flashinfer-fp8"), "the record says which arm ran"
    assert found.id in select(context="112k")
    assert found.id in select(context="112648")
    assert found.id not in select(context="112000")
    assert select(text="ODD weather 3090") == [found.id]
    assert select(text="odd sunshine") == []


# staleness


def today(**more: Any) -> Now:
    parts: dict[str, Any] = {
        "resolver": resolver(),
        "engine": "0.31.0",
        "plugins": {"splitverify": "0.1.0"},
        "machine": lambda: machine("rtx-3090"),
    }
    return Now(**{**parts, **more})


def test_a_figure_of_today_is_not_stale(tmp_path: Path) -> None:
    found = today().judge(figure(tmp_path))
    assert (found.stale, found.text) == (False, "")


def test_engine_and_plugins_that_changed_make_it_stale(tmp_path: Path) -> None:
    one = figure(tmp_path)
    assert today(engine="0.32.0").judge(one).changed == ("engine 0.31.0, now 0.32.0",)
    assert today(plugins={"splitverify": "0.2.0"}).judge(one).changed == ("splitverify 0.1.0, now 0.2.0",)
    assert today(plugins={}).judge(one).changed == ("splitverify 0.1.0, now not installed",)
    assert today(plugins=None).judge(one).stale is False, "without an engine here nothing is known of plugins"
    both = today(engine="0.32.0", plugins={}).judge(one)
    assert both.text == "stale: engine 0.31.0, now 0.32.0; splitverify 0.1.0, now not installed"


def test_rules_that_changed_and_make_the_same_launch_do_not(tmp_path: Path) -> None:
    assert today().judge(figure(tmp_path, provenance=on(rules="0" * 16))).stale is False
    beside = replace(figure(tmp_path, provenance=on(rules="0" * 16)), provenance={})
    listed = {k: v for k, v in figure(tmp_path).provenance.items() if k != "facts"} | {"rules": "0" * 16}
    assert today().judge(replace(beside, provenance=listed)).stale is False, "found on the machine file of its card"


def test_rules_that_make_another_launch_do(tmp_path: Path) -> None:
    other = figure(tmp_path, provenance=on(rules="0" * 16, configuration="f" * 16))
    found = today().judge(other)
    assert (found.stale, found.changed) == (True, ("the rules make another launch of it",))
    elsewhere = today(machine=lambda: machine("h200")).judge(other)
    assert (elsewhere.stale, elsewhere.untold) == (None, (MAYBE,))
    assert elsewhere.text == MAYBE


def test_what_cannot_be_told_is_not_claimed(tmp_path: Path, evidence: Evidence) -> None:
    old = evidence.figures["g-esc-decode-fp8"]
    assert today().judge(old).changed == ("engine 0.28.0, now 0.31.0",)
    bare = evidence.figures["l-fp8-decode-112k"]
    assert today().judge(bare).stale is None
    assert today().judge(bare).text == ""
    hidden = on(rules="0" * 16, args=("--hf-token", "***"))
    assert today().judge(figure(tmp_path, provenance=hidden)).stale is None
    gone = today(engine="9.9.9").judge(figure(tmp_path, provenance=on(rules="0" * 16, engine="9.9.9")))
    assert gone.stale is None, "an engine that this product does not know is asked of nothing"


def test_this_machine_is_asked_only_when_a_figure_needs_it(tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError("the GPU was asked")

    assert today(machine=never).judge(figure(tmp_path)).stale is False
    assert figures_stale.now(resolver(), {"ENGINE_VENV": str(tmp_path)}).engine == "0.31.0"


# two figures


def test_each_fact_that_differs_is_named(tmp_path: Path, evidence: Evidence) -> None:
    first = figure(tmp_path, speed(60))
    other = on("PTH_FA=0", "MAX_SEQS=4", power_cap_w=350, clocks={}, engine="0.30.0", plugins={"splitverify": "0.2.0"})
    second = figure(tmp_path, speed(75, 60000, conditions={"cache_state": "prefix hit"}), other)
    both = figures_compare.compare(evidence, first, second)
    differ = {fact: (a, b) for fact, a, b in both.differ}
    assert differ["engine"] == ("0.31.0", "0.30.0")
    assert differ["power cap in W"] == ("250", "350")
    assert differ["clocks sm mhz"] == ("1695", None)
    assert differ["context tokens"] == ("112,000", "60,000")
    assert differ["cache state"] == ("cold prompt", "prefix hit")
    assert differ["plugins splitverify"] == ("0.1.0", "0.2.0")
    assert differ["MAX_SEQS"] == (None, "4")
    assert differ["--max-num-seqs"] == ("8", "4")
    assert both.ratio == 1.25
    assert "hardware" in both.same
    assert "hardware" not in differ
    table, below = figures_compare.lines(both)
    assert ("clocks sm mhz", "1695", "unknown") in table
    assert below[0] == f"{second.id} is 1.25 times {first.id}"
    json.dumps(both.as_json())


def test_the_same_figure_differs_in_nothing(evidence: Evidence) -> None:
    one = evidence.figures["g-esc-decode-fp8"]
    both = figures_compare.compare(evidence, one, one)
    assert both.differ == ()
    assert both.ratio == 1
    assert set(both.neither) == {"date", "driver", "clocks", "configuration", "method"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("g-esc-decode-fp8", "g-esc-ppl-fp8", "different metrics"),
        ("v31-huge-two-inflight", "l-ret-sparse-reuse", "contradict each other"),
        ("l-mtp-long-default", "su-mtp-long-c1-default", "contradict each other"),
    ],
)
def test_why_values_may_not_compare(evidence: Evidence, first: str, second: str, said: str) -> None:
    both = figures_compare.compare(evidence, evidence.figures[first], evidence.figures[second])
    assert any(said in remark for remark in both.remarks)


def test_other_methods_are_told_of(tmp_path: Path, evidence: Evidence) -> None:
    one, two = figure(tmp_path), figure(tmp_path, speed(method_version=2))
    assert any("different methods" in r for r in figures_compare.compare(evidence, one, two).remarks)


def test_a_figure_is_found_by_the_beginning_of_its_id(evidence: Evidence) -> None:
    assert figures_compare.find(evidence, "g-esc-decode-fp").id == "g-esc-decode-fp8"
    with pytest.raises(UsageError, match="figures begin with 'g-esc'"):
        figures_compare.find(evidence, "g-esc")
    with pytest.raises(UsageError) as caught:
        figures_compare.find(evidence, "q-esc-decode-fp8")
    assert caught.value.fix == "did you mean g-esc-decode-fp8?"


# the picture


def test_lines_are_of_one_arm_card_engine_and_task_and_nothing_is_averaged(tmp_path: Path, evidence: Evidence) -> None:
    book = kept(
        tmp_path,
        (speed(70, 1000), on()),
        (speed(60, 2000), on()),
        (speed(65, 2000), on()),
        (speed(50, 2000, conditions={"task": "copy"}), on()),
        (speed(90, 1000), on(engine="0.30.0")),
    )
    figures = [figure_of(record, "x") for record in book.records]
    found = figures_plot.series(resolver().rules, figures)
    points = {key: [(context, f.value) for context, f in line] for key, line in found.items()}
    base = ("mtp-long-fp8", "RTX 3090 24 GB")
    assert points == {
        (*base, "0.30.0", 1, ""): [(1000, 90)],
        (*base, "0.31.0", 1, ""): [(1000, 70), (2000, 60), (2000, 65)],
        (*base, "0.31.0", 1, "copy"): [(2000, 50)],
    }
    assert figures_plot.label((*base, "unknown", 4, "copy")) == (
        "mtp-long-fp8, RTX 3090 24 GB, engine unknown, 4 streams, copy"
    )


def test_a_figure_that_fits_several_arms_is_drawn_for_none_unless_quoted(evidence: Evidence) -> None:
    rules = resolver().rules
    assert figures_plot.arms_of(rules, evidence.figures["l-fp8-decode-112k"]) == ["mtp-long-flashinfer-fp8"] or (
        "l-fp8-decode-112k" in rules.arms["mtp-long-fp8"].figures
    )
    unquoted = evidence.figures["lc-112k-copy-mtp"]
    assert sum(view.of_arm(unquoted, arm) for arm in rules.arms.values()) > 1
    assert figures_plot.arms_of(rules, unquoted) == []
    old = next(f for f in evidence.figures.values() if f.superseded_by and f.metric == "decode_tok_s")
    assert figures_plot.series(rules, [old]) == {}


def test_the_same_figures_give_the_same_bytes(tmp_path: Path, evidence: Evidence) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    figures = [f for f in evidence.figures.values() if f.hardware == "RTX 3090 24 GB"]
    made = []
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        count = figures_plot.plot(resolver().rules, evidence, figures, tmp_path / name)
        assert count > 10
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    assert made[2] == made[3]
    assert b"<svg" in made[0]
    assert made[2].startswith(b"\x89PNG")
    assert b"<dc:date>" not in made[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


def test_what_cannot_be_drawn_says_why(tmp_path: Path, evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, some = resolver().rules, list(evidence.figures.values())
    with pytest.raises(UsageError, match=r"ends neither in \.svg nor in \.png"):
        figures_plot.plot(rules, evidence, some, tmp_path / "a.pdf")
    with pytest.raises(UsageError, match="no figure of ppl fits"):
        figures_plot.plot(rules, evidence, some[:1], tmp_path / "a.svg", "ppl")
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    with pytest.raises(LaunchError, match="cannot be written"):
        figures_plot.plot(rules, evidence, some, tmp_path / "nowhere" / "a.svg")

    def without(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(figures_plot, "import_module", without)
    with pytest.raises(UsageError) as caught:
        figures_plot.plot(rules, evidence, some, tmp_path / "a.svg")
    assert "matplotlib" in caught.value.message
    assert caught.value.fix == "run .venv/bin/pip install 'matplotlib>=3.9' once"


# the command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("LAUNCH_STATE_DIR", str(tmp_path))

    def call(*words: str) -> SimpleNamespace:
        status = dispatch.main(["figures", *words])
        said = capsys.readouterr()
        return SimpleNamespace(status=status, out=said.out, err=said.err)

    return call


def test_it_is_short_and_says_how_to_see_all(run: Any, evidence: Evidence) -> None:
    short = run()
    assert short.status == 0
    assert len(short.out.splitlines()) < 40
    assert f"the first 20 of {len(evidence.figures)} figures that fit; see all with --all" in short.out
    assert len(run("--all", "--metric", "decode_tok_s").out.splitlines()) > 100
    few = run("--arm", "off-huge-kvarn")
    assert "see all" not in few.out
    assert len(json.loads(run("--json", "--metric", "decode_tok_s").out)) > 100, "data is for programs: all of it"


def test_the_ledger_of_the_state_folder_is_read(run: Any, tmp_path: Path) -> None:
    book = kept(tmp_path, (speed(low=69, high=71, spread="min-max"), on()))
    out = run("--arm", "mtp-long-fp8").out.splitlines()
    assert out[1].startswith(book.records[0].id)
    assert "70 (69 to 71, min-max) tok/s" in out[1]
    elsewhere = tmp_path / "other.jsonl"
    ledger.append(elsewhere, [speed(33)], on())
    found = json.loads(run("--ledger", str(elsewhere), "--json", "--find", "ledger mtp-long-fp8").out)
    assert [f["value"] for f in found] == [33]
    assert found[0]["stale"]["stale"] is not None
    with pytest.raises(UsageError, match="there is no ledger"):
        run("--ledger", str(tmp_path / "nowhere"))


def test_a_damaged_line_is_told_of(run: Any, tmp_path: Path) -> None:
    book = kept(tmp_path, (speed(), on()))
    with open(book.path, "ab") as file:
        file.write(b'{"schema": 1, "id": "half')
    found = run("--arm", "mtp-long-fp8")
    assert f"note: {book.path}:2:1: the last line was cut" in found.err
    assert book.records[0].id in found.out


def test_stale_ones_are_marked_and_found(run: Any, tmp_path: Path) -> None:
    kept(tmp_path, (speed(), on(engine="0.30.0")))
    assert "measured, stale: engine 0.30.0, now" in run("--arm", "mtp-long-fp8", "--find", "ledger").out
    assert "engine 0.30.0" in run("--stale", "--find", "ledger").out
    assert "no figure fits" in run("--stale", "--find", "ledger", "--engine", "0.31").err


def test_two_are_compared_on_the_command_line(run: Any) -> None:
    out = run("--compare", "g-esc-depth-8k-fp8", "g-esc-depth-60k-fp8").out
    assert "g-esc-depth-60k-fp8 is 0.865 times g-esc-depth-8k-fp8" in out
    data = json.loads(run("--compare", "g-esc-depth-8k-fp8", "g-esc-depth-60k-fp8", "--json").out)
    assert data["differ"] == [{"fact": "context tokens", "values": ["8000", "60,000"]}]
    for words in (("--compare",), ("--compare", "a"), ("--compare", "a", "--json")):
        with pytest.raises(UsageError, match="--compare needs two figures"):
            run(*words)


def test_a_picture_from_the_command_line(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, the optional extra `plot`, is not installed")
    path = tmp_path / "speed.svg"
    found = run("--hardware", "3090", "--plot", str(path))
    assert found.status == 0
    assert found.out == ""
    assert "figures of decode_tok_s over context" in found.err
    assert path.read_bytes().startswith(b"<?xml")


def test_the_ledger_becomes_evidence_from_the_command_line(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = kept(tmp_path, (speed(1), on()), (speed(2, 60000), on()), (speed(3), on("PTH_FA=1")))
    asked: list[Any] = []

    def write(path: Path, arm: str, records: list[ledger.Record]) -> list[str]:
        asked.append((path, arm, [record.id for record in records]))
        return [record.id for record in records]

    monkeypatch.setattr("resolver.measure.into.write", write)
    arm, first = "mtp-long-fp8", book.records[0]
    said = run("--into", arm, "--arm", arm, "--context", "112k").err
    assert asked == [(ROOT / "profiles.yaml", arm, [first.id])]
    assert said.startswith("written beside mtp-long-fp8 in ")
    assert said.endswith(f": {first.id}\n")
    with pytest.raises(UsageError, match="nothing in the ledger"):
        run("--into", arm, "--find", "sunshine")


def test_arms_are_offered_for_into() -> None:
    from resolver.cli.complete import candidates

    assert [word for word, _ in candidates(["measure", "--into", "off-huge-k"])] == ["off-huge-kvarn"]
    assert "--compare" in [word for word, _ in candidates(["figures", "--"])]
