"""Launches of the recorded runs, ours and theirs, through the real parser and the real engine configuration."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest

from resolver.compile import open_resolver
from resolver.engine import load_engine
from resolver.facts import FileInfo, FileView, Machine
from resolver.resolution import Resolution
from tests.engine.real_config import Launch, check_many, with_stand_ins
from tests.engine.real_parser import VARIABLE, available, parse_many
from tests.golden import cases
from tools.engine_data.environment import ROOT

STOCK = "0.31.0"
pytestmark = [pytest.mark.slow, pytest.mark.engine]

# Recorded launches that stock vLLM with the overlay's choice refuses: what the user passed through is wrong.
# The old launcher did not look at it; ours refuses these.
WRONG_FLAGS = {
    r"argument --dtype: invalid choice: 'fp16'": 3,
    r"argument --kv-cache-dtype: invalid choice: 'turboquant'": 1,
    r"argument --kv-transfer-config: .*Unexpected keyword argument": 1,
    r"argument --compilation-config/-cc: .*Unexpected keyword argument": 1,
    r"argument --override-generation-config: Value '\{\"a\": cannot be converted": 1,
    r"validate: ValueError: Error: --enable-per-request-metrics requires engine statistics": 1,
}


def needs() -> None:
    """Skips the test, saying why, where there is no engine to ask."""
    if not available(STOCK):
        pytest.skip(f"{VARIABLE} names no parser environment with vLLM {STOCK}")


def recorded() -> list[cases.Case]:
    """Every recorded run."""
    return [case for path in sorted(cases.DATA.glob("*.xz")) for case in cases.read(path)]


@dataclasses.dataclass(frozen=True)
class WithTokenizer:
    """The files of a recorded machine, and a tokenizer beside every model: the records do not list one."""

    files: FileView

    def look(self, path: str) -> FileInfo:
        return FileInfo("file") if path.endswith("/tokenizer.json") else self.files.look(path)


def machine(case: cases.Case) -> Machine:
    """The machine of a recorded run, with a tokenizer."""
    found = cases.machine(case)
    return dataclasses.replace(found, files=WithTokenizer(found.files))


def ours(engine: str) -> list[tuple[cases.Case, Resolution]]:
    """Our launches of the recorded runs on this engine; refusals are left out."""
    resolver = open_resolver()
    made = [(case, resolver.resolve(cases.request(resolver, case), machine(case), engine)) for case in recorded()]
    return [(case, resolution) for case, resolution in made if not resolution.refused]


def overlay_choices() -> dict[str, list[str]]:
    """The choices that the overlay adds to stock flags."""
    stock, overlaid = load_engine(ROOT, STOCK), load_engine(ROOT, cases.ENGINE)
    added = {d: [str(c) for c in overlaid.choices(d) if c not in stock.choices(d)] for d in overlaid.flags}
    return {dest: more for dest, more in added.items() if more}


def test_recorded_launches_parse() -> None:
    needs()
    launches = [case for case in recorded() if case.argv is not None]
    answers = parse_many(STOCK, [case.argv or () for case in launches], overlay_choices())
    reasons = [" ".join(reason.split()) for ok, reason in answers if not ok]
    found = Counter(next((p for p in WRONG_FLAGS if re.match(p, reason)), reason) for reason in reasons)
    assert len(launches) == 1814
    assert dict(found) == WRONG_FLAGS


def test_our_launches_parse() -> None:
    """With the overlay, every launch that we make of a recorded run is parsed, and passes the checks behind the parser."""
    needs()
    launches = ours(cases.ENGINE)
    answers = parse_many(STOCK, [resolution.argv for _, resolution in launches], overlay_choices())
    assert len(launches) > 1500
    refused = [(case.id, reason) for (case, _), (ok, reason) in zip(launches, answers, strict=True) if not ok]
    assert refused == []


def test_our_launches_on_stock_are_accepted_by_the_engine() -> None:
    """On stock 0.31.0 the real engine configuration takes every launch that we make of a recorded run."""
    needs()
    launches = ours(STOCK)
    asked = [
        Launch(
            with_stand_ins(resolution.argv),
            case.machine["cc"] or "8.6",
            devices=8,
            env={k: v for k, v in resolution.environment().items() if k.startswith(("VLLM_", "PYTORCH_"))},
        )
        for case, resolution in launches
    ]
    answers = check_many(STOCK, asked)
    assert len(asked) > 800
    refused = [(case.id, answer.message) for (case, _), answer in zip(launches, answers, strict=True) if not answer.ok]
    assert refused == []
