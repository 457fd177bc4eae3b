"""Everything rendered has a reader: with the reader gone, a default is left out with a note and a user's wish is refused."""

from __future__ import annotations

import dataclasses

import pytest

from resolver.compile import open_resolver, product_root
from resolver.engine import Engine
from resolver.machines import load_machine
from resolver.model import Flag, JsonFlag, Knob, Variable
from resolver.request import build
from resolver.resolution import Resolution

RESOLVER = open_resolver()
ROOT = product_root()
RULES = RESOLVER.rules
FLAGS = [e for e in RULES.argv if isinstance(e, (Flag, JsonFlag))]
VARIABLES = [v for v in RULES.variables.values() if v.source]
Situation = tuple[str, str, dict[str, str]]
SITUATIONS: tuple[Situation, ...] = (
    ("rtx-3090", "mtp-fast", {}),
    ("rtx-3090", "dflash2-huge-reproduction", {}),
    ("rtx-3090", "dflash2-long", {"pth_fa": "0"}),
    ("rtx-3090", "mtp-fast", {"vision": "1"}),
    ("rtx-3090", "mtp-fast", {"nnodes": "2", "node_rank": "1", "master_addr": "10.0.0.1"}),
    ("rtx-3090", "mtp-fast", {"int8_act": "int8"}),
    ("rtx-3090-wsl2", "dflash2-fast", {}),
    ("cpu-only", "cpu-tiny", {}),
)
"""Launches that together render every flag and variable."""
TEXTS = {
    "switch": "1",
    "zero_one": "1",
    "int": "2",
    "decimal": "0.5",
    "tokens": "8192",
    "json": "[[1,2,3]]",
    "host": "10.0.0.1",
}
SPECIAL = {"fa2_fp8kv": "1", "cudagraph_mode": "PIECEWISE"}


def text_for(knob: Knob) -> str:
    return SPECIAL.get(knob.name) or (knob.allowed[0] if knob.allowed else TEXTS.get(knob.type, "some-text"))


def without(engine: Engine, flag: str | None = None, variable: str | None = None) -> Engine:
    """The engine with one reader gone."""
    dest = engine.destination(flag) if flag else None
    flags = {d: i for d, i in engine.flags.items() if d != dest}
    return dataclasses.replace(engine, flags=flags, variables=engine.variables - {variable or ""})


def launch(situation: Situation, engine: Engine | None = None, **knobs: str) -> Resolution:
    machine_name, profile, given = situation
    machine = load_machine(ROOT, machine_name)
    assignments = [(k, v, "test") for k, v in {**given, **knobs}.items()]
    request = build(RULES, RESOLVER.table, profile=profile, assignments=assignments)
    return RESOLVER.resolve(request, machine, engine or RESOLVER.engine_of(machine))


def knobs_behind(source: str) -> list[Knob]:
    return [k for k in RULES.knobs.values() if k.name == source or source in k.sets]


def flags_of(resolution: Resolution) -> set[str]:
    return {word.partition("=")[0] for word in resolution.argv}


@pytest.mark.parametrize("entry", FLAGS, ids=lambda e: e.flag)
def test_a_flag_without_a_reader(entry: Flag | JsonFlag) -> None:
    source = entry.source if isinstance(entry, Flag) else entry.gate or entry.flag
    spellings = {entry.flag} | ({entry.off} if isinstance(entry, Flag) and entry.off else set())
    seen = 0
    for situation in SITUATIONS:
        engine = launch(situation).engine
        for knob in [None, *knobs_behind(source)]:
            given = {} if knob is None else {knob.name: text_for(knob)}
            if not spellings & flags_of(launch(situation, **given)):
                continue
            after = launch(situation, without(engine, flag=entry.flag), **given)
            said = [d for d in after.diagnostics if d.rule.endswith("-flag") and f"{entry.flag}" in d.message.split()]
            said = said or [d for d in after.diagnostics if d.rule.endswith("-flag") and entry.flag in d.message]
            assert len(said) == 1, f"{entry.flag} vanished without a word"
            assert not spellings & flags_of(after)
            if knob is not None:
                assert said[0].severity == "refuse"
                assert any(c.knob == knob.env for c in said[0].causes)
            seen += 1
    assert seen, f"no situation renders {entry.flag}"


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda v: v.name)
def test_a_variable_without_a_reader(variable: Variable) -> None:
    name = variable.name
    seen = 0
    for situation in SITUATIONS:
        engine = launch(situation).engine
        for knob in [None, *knobs_behind(variable.source or "")]:
            given = {} if knob is None else {knob.name: text_for(knob)}
            plain = launch(situation, **given)
            if plain.rendered.set_variables.get(name, plain.request.environ.get(name)) == plain.request.environ.get(
                name
            ):
                continue
            after = launch(situation, without(engine, variable=name), **given)
            said = [d for d in after.diagnostics if f"{name}=" in d.message and d.rule.endswith("-variable")]
            assert len(said) == 1, f"{name} vanished without a word"
            assert name not in after.rendered.set_variables
            if knob is not None:
                assert said[0].severity == "refuse"
            seen += 1
    if not seen:  # only a fact brings it, and no shipped machine has that fact
        assert variable.source == "toolchain_home"


@pytest.mark.parametrize(
    ("knob", "text", "refused"), [("tool_strict", "no-such-level", True), ("executor", "uni", False)]
)
def test_a_choice_is_checked_where_the_engine_lists_choices(knob: str, text: str, refused: bool) -> None:
    after = launch(SITUATIONS[0], **{knob: text})
    said = [d for d in after.diagnostics if d.rule == "nothing-reads-choice"]
    assert bool(said) == refused == after.refused
    assert all("--tool-strict-level no-such-level" in d.message for d in said)


def test_a_refusal_names_the_engine_that_has_it() -> None:
    situation: Situation = ("rtx-3090-stock", "mtp-fast", {"embed_uva": "1"})
    found = [d for d in launch(situation).diagnostics if d.rule == "nothing-reads-variable"]
    assert "0.31.0+hyperqwen-0.31" in found[0].message
    assert "--engine 0.31.0+hyperqwen-0.31" in (found[0].fix or "")


def test_the_situations_are_launches() -> None:
    assert [s for s in SITUATIONS if launch(s).setting("arm") is None] == []
    assert len(FLAGS) > 30
    assert len(VARIABLES) > 12
