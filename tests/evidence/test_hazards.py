"""Every known hazard has a place, every place exists, and the page that shows them is up to date."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from resolver.compile import open_resolver, product_root
from resolver.machines import load_machine
from resolver.request import build
from resolver.resolve import Resolver
from resolver.views.evidence import load_evidence
from resolver.views.hazards import ORDER, PAGE, page, read_hazards

ROOT = product_root()
HAZARDS, WHERE = read_hazards(ROOT)
HOMES = {
    "readiness": ("resolver.serving.ready:",),
    "acceptance": ("resolver.serving.accept.", "resolver.measure."),
    "measuring": ("resolver.measure.",),
}
PLACES: dict[str, dict[str, Any]] = WHERE["places"]
DEFAULTS = [f"{spec}-{ctx}" for spec in ("mtp", "dflash2", "off") for ctx in ("fast", "long", "huge")]


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def test_every_hazard_has_one_place_and_no_place_is_of_nothing() -> None:
    ids = [h["id"] for h in HAZARDS["hazards"]]
    assert len(ids) == len(set(ids)) >= 264
    assert set(ids) == set(PLACES)


def test_words_are_in_the_vocabularies() -> None:
    sources = load_evidence(ROOT).sources
    for h in HAZARDS["hazards"]:
        assert h["severity"] in HAZARDS["severities"]
        assert h["status"] in HAZARDS["statuses"]
        assert h["affects"] in HAZARDS["affects"]
        assert h["old_launcher"] in HAZARDS["old_launcher"]
        assert h["source"] in sources
        assert set(h.get("also_in", ())) <= set(sources)
        assert (h["status"] == "fixed-in-engine") == ("fixed_in" in h)
        assert {*h.get("related", ()), *h.get("contradicts", ())} <= set(PLACES)
    assert set(ORDER) == set(HAZARDS["severities"])


def test_figures_of_hazards_exist() -> None:
    figures = load_evidence(ROOT).figures
    assert [(h["id"], f) for h in HAZARDS["hazards"] for f in h.get("figures", ()) if f not in figures] == []


@pytest.mark.parametrize("hazard", sorted(PLACES))
def test_a_place_exists(resolver: Resolver, hazard: str) -> None:
    place, rules = PLACES[hazard], resolver.rules
    assert set(place) - {"note"}, "a note is no place"
    assert set(place) <= {*WHERE["kinds"], "note"}
    assert "left-out" not in place or set(place) == {"left-out"}, "left out, or not"
    assert set(place.get("guard", ())) <= set(rules.guards)
    assert set(place.get("default", ())) <= {*rules.settings, *rules.knobs}
    assert set(place.get("requirement", ())) <= {g.arm for g in rules.guards.values()}
    assert set(place.get("knob", ())) <= set(rules.knobs)
    for kind in ("code", "readiness", "acceptance", "measuring"):
        for name in place.get(kind, ()):
            module, _, attribute = name.partition(":")
            assert callable(getattr(import_module(module), attribute)), name


def test_checks_of_a_server_are_code_of_the_server_and_measuring_tools_of_the_tools() -> None:
    for hazard, place in PLACES.items():
        for kind, homes in HOMES.items():
            assert all(name.startswith(homes) for name in place.get(kind, ())), hazard


@pytest.mark.parametrize(
    "hazard", [h for h in HAZARDS["hazards"] if h["severity"] not in ("slow", "ignored")], ids=lambda h: h["id"]
)
def test_what_is_grave_is_not_just_noted(resolver: Resolver, hazard: dict[str, Any]) -> None:
    place = PLACES[hazard["id"]]
    spoken = {resolver.rules.guards[name].severity for name in place.get("guard", ())}
    if spoken and set(place) <= {"guard", "note"}:
        assert spoken & {"refuse", "warn"} or "note" in place, "only a note: say why"


def test_what_an_engine_version_mended_is_silent_from_there_on(resolver: Resolver) -> None:
    mended = [h for h in HAZARDS["hazards"] if h["status"] == "fixed-in-engine"]
    assert len(mended) >= 5
    for h in mended:
        for name in PLACES[h["id"]].get("guard", ()):
            assert resolver.rules.guards[name].until == h["fixed_in"], f"{h['id']}: {name}"


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(ROOT), "run python -m resolver.views.hazards"


@pytest.mark.parametrize("profile", DEFAULTS)
def test_a_default_launch_prints_no_warning(resolver: Resolver, profile: str) -> None:
    resolution = resolver.resolve(
        build(resolver.rules, resolver.table, profile=profile), load_machine(ROOT, "rtx-3090")
    )
    assert [d.message for d in resolution.diagnostics if d.severity != "note"] == []


@pytest.mark.parametrize(
    ("name", "severity", "near"),
    [
        ("VLLM_WSL_PIN_MEMORY", "warn", "VLLM_WSL2_ENABLE_PIN_MEMORY"),
        ("KVARN_POOL_FRAC", "warn", "KVARN_POOL_MEM_FRAC"),
        ("VLLM_V2_CUDAGRAPH_MEM_MIB", "note", None),
        ("VLLM_LOGGING_LEVEL", None, None),
        ("VLLM_DFLASH2_CHAIN", None, None),
        ("HOME", None, None),
    ],
)
def test_variables_that_nothing_reads(resolver: Resolver, name: str, severity: str | None, near: str | None) -> None:
    request = build(resolver.rules, resolver.table, profile="dflash2-fast", environ={name: "secret-text"})
    said = [
        d
        for d in resolver.resolve(request, load_machine(ROOT, "rtx-3090")).diagnostics
        if d.rule == "variable-that-nothing-reads"
    ]
    assert [d.severity for d in said] == ([severity] if severity else [])
    for d in said:
        assert name in d.message
        assert "secret-text" not in str(d.as_json())
        assert near is None or near in (d.fix or "")
