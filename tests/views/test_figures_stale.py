"""A figure says whether it is stale: by its engine, its plugins, and what the rules make of its knobs today."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from resolver.views import figures_stale
from resolver.views.evidence import Evidence
from resolver.views.figures_stale import MAYBE, Now
from tests.explain.requests import machine, resolver
from tests.views.figures_kept import figure, on


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
