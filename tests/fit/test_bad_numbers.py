"""Engine flags with values that are no numbers: fit has an answer or a reason, whatever stands there."""

from __future__ import annotations

import json

import pytest

from resolver.compile import open_resolver
from resolver.geometry.shapes import NoGeometry
from resolver.machines import load_machine
from resolver.request import build
from resolver.resolve import Resolver
from resolver.views.fit import SOLVABLE, as_json
from resolver.views.fit_setup import asked

FLAGS = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "max-model-len",
    "max-num-seqs",
    "max-num-batched-tokens",
    "block-size",
    "gpu-memory-utilization",
    "kv-cache-memory-bytes",
    "speculative-config.num_speculative_tokens",
)
VALUES = ("x", "", "8.5", "1e3", "-3", "0", "nan", "inf", "\ufeff8", "\u0663", "9" * 40)


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("on", ["rtx-3090", "cpu-only"])
def test_any_value_has_an_answer_or_a_reason(resolver: Resolver, flag: str, value: str, on: str) -> None:
    machine = load_machine(resolver.root, on)
    request = build(resolver.rules, resolver.table, environ={"CTX": "fast"}, args=(f"--{flag}", value))
    resolution = resolver.resolve(request, machine, resolver.engine_of(machine))
    for what in SOLVABLE:
        try:
            data = as_json(asked(resolution), what, True)
        except NoGeometry:
            continue
        assert json.dumps(data, allow_nan=False)


@pytest.mark.parametrize("flag", ["tensor-parallel-size", "pipeline-parallel-size", "gpu-memory-utilization"])
def test_the_reason_names_the_flag_as_typed(resolver: Resolver, flag: str) -> None:
    machine = load_machine(resolver.root, "rtx-3090")
    request = build(resolver.rules, resolver.table, args=(f"--{flag}", "x"))
    with pytest.raises(NoGeometry, match=f"^--{flag} is x, "):
        asked(resolver.resolve(request, machine, resolver.engine_of(machine)))
