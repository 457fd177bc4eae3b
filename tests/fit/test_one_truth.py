"""The guards count residents by the tables of rules/memory.yaml, fit by resolver/geometry: both say the same, always."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolver.compile import open_resolver
from resolver.geometry.pool import numbers
from resolver.geometry.shapes import NoGeometry, Setup
from resolver.geometry.solve import max_model_len
from resolver.geometry.verdict import ORDER
from resolver.machines import load_machine, names
from resolver.request import build
from resolver.resolution import Resolution
from resolver.resolve import Resolver
from resolver.views.fit import SOLVABLE, as_json
from resolver.views.fit_setup import asked
from tests.fit.setups import KNOWN, QWEN, dflash
from tests.golden import cases
from tests.matrix.strategies import given_knobs

GIB = 1 << 30

SAME = {
    "block": "resident_block_tokens",
    "page_bytes": "resident_page_bytes",
    "pool_pages": "resident_pool_pages",
    "state_pages": "resident_state_pages",
    "state_bytes": "resident_state_bytes",
    "residents_low": "resident_requests_low",
    "residents_high": "resident_requests_high",
    "residents_at_max_len": "resident_requests_at_max_len",
}
RECORDED = {
    "low": "residents_low",
    "high": "residents_high",
    "at_max_len": "residents_at_max_len",
    "max_len": "max_model_len",
    "pool_pages": "pool_pages",
    "block_tokens": "block",
    "state_pages_per_request": "state_pages",
}

FLAGS_THAT_THE_RECORD_DID_NOT_READ = {"tensor_parallel_size", "max_model_len"}
"""The recorded launcher counted without looking at the engine's own flags; fit counts what the engine will do."""


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return open_resolver()


def differences(resolution: Resolution) -> dict[str, Any]:
    """What the tables and the arithmetic do not agree on, where the guards count."""
    sheet = numbers(asked(resolution).setup)
    return {
        name: (sheet.get(name), resolution.setting(setting))
        for name, setting in SAME.items()
        if sheet.get(name) != resolution.setting(setting)
    }


def test_all_recorded_residents(resolver: Resolver) -> None:
    """Every recorded run whose residents were counted: record, tables and arithmetic agree."""
    counted, unread = 0, []
    for path in sorted(cases.DATA.glob("*.jsonl.xz")):
        for case in cases.read(path):
            if case.resident is None:
                continue
            resolution = resolver.resolve(cases.request(resolver, case), cases.machine(case), cases.ENGINE)
            counted += 1
            if FLAGS_THAT_THE_RECORD_DID_NOT_READ & set(resolution.passthrough.last):
                unread.append(case.id)
                continue
            sheet = numbers(asked(resolution).setup)
            assert {key: sheet.get(RECORDED[key]) for key in case.resident} == dict(case.resident), case.id
            if resolution.setting("counts_residents") == "on":
                assert differences(resolution) == {}, case.id
    assert (counted, len(unread)) == (216, 7), unread


KNOBS: dict[str, list[str]] = {
    "CTX": ["fast", "long"],
    "DFLASH_TOKENS": [str(n) for n in range(1, 20)],
    "KV_MEM": ["2000000000", "4456028569", "5261334938", "6871947673", "12000000000"],
    "MAX_LEN": ["1000", "4096", "65536", "98304", "131072", "262144"],
    "MAX_SEQS": ["1", "4", "8", "64"],
    "ATTENTION_BACKEND": ["FLASH_ATTN", "TRITON_ATTN", "CUSTOM", "FLASHINFER"],
    "ASYNC_SCHED": ["0", "1"],
    "LOOKUP": ["0", "1"],
}
ARGS = [
    (),
    ("--max-num-batched-tokens", "4096"),
    ("--kv-cache-dtype", "fp8"),
    ("--kv-cache-dtype", "int8_per_token_head"),
]


@given(
    st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in KNOBS.items()}),
    st.sampled_from(ARGS),
    st.integers(0, 100),
)
def test_random_launches(resolver: Resolver, knobs: Mapping[str, str], args: tuple[str, ...], which: int) -> None:
    every = [name for name in names(resolver.root) if name != "cpu-only"]
    machine = load_machine(resolver.root, every[which % len(every)])
    request = build(resolver.rules, resolver.table, environ={"SPEC": "dflash2", **knobs}, args=args)
    resolution = resolver.resolve(request, machine, resolver.engine_of(machine, cases.ENGINE))
    if resolution.setting("counts_residents") == "on":
        assert differences(resolution) == {}


SAME_FOR_ALL = {
    "block": "request_block",
    "page_bytes": "request_page_bytes",
    "request_pages": "request_pages",
    "request_bytes": "request_bytes",
    "pool_pages": "pinned_pages",
}
ANY_KNOBS: dict[str, list[str]] = {
    **KNOBS,
    "CTX": ["fast", "long", "huge"],
    "SPEC": ["mtp", "dflash2", "off"],
    "DRAFT_TOKENS": ["1", "3", "6"],
    "MAX_LEN": ["1000", "64k", "131072", "140k", "262144"],
    "PREFIX_CACHE": ["0", "1"],
    "TENSOR_PARALLEL_SIZE": ["2", "4", "8"],
}
MORE_ARGS = [
    *ARGS,
    ("--max-model-len", "32k"),
    ("--kv-cache-memory-bytes", "4G"),
    ("--mamba-ssm-cache-dtype", "float32"),
    ("--no-async-scheduling",),
    ("--no-enable-prefix-caching",),
]


@given(
    st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in ANY_KNOBS.items()}),
    st.sampled_from(MORE_ARGS),
    st.integers(0, 100),
)
def test_a_request_has_as_many_pages_in_the_tables_as_in_the_arithmetic(
    resolver: Resolver, knobs: Mapping[str, str], args: tuple[str, ...], which: int
) -> None:
    """Any speculator, format, grouping and number of GPUs: the guard on a pinned pool counts what fit counts."""
    every = names(resolver.root)
    machine = load_machine(resolver.root, every[which % len(every)])
    request = build(resolver.rules, resolver.table, environ=knobs, args=args)
    resolution = resolver.resolve(request, machine, resolver.engine_of(machine))
    if resolution.setting("request_pages") is None:
        return
    sheet = numbers(asked(resolution).setup)
    assert {name: sheet.get(name) for name in SAME_FOR_ALL} == {
        name: resolution.setting(setting) for name, setting in SAME_FOR_ALL.items()
    }
    smaller = "pool-smaller-than-one-request"
    speaks = any(d.rule.startswith(smaller) for d in resolution.diagnostics)
    assert speaks == (sheet.get("pool_pages") is not None and sheet["request_pages"] > sheet["pool_pages"])


def dflash_need(resolver: Resolver, text: str, guard: str) -> None:
    """The guard's text has the number."""
    found = next(g for g in resolver.rules.guards.values() if g.id == guard)
    words = f"{getattr(found, 'message', '')} {found.fix} {found}"
    assert text in words, (guard, text)


def test_constants_in_the_texts_of_guards_are_what_the_arithmetic_gives(resolver: Resolver) -> None:
    """Where a guard's text names a number that can be derived, it is the derived one."""
    fifteen = dflash("int8", 15, 131072, async_scheduling=False)
    assert max_model_len(fifteen) == 114224
    dflash_need(resolver, "114,224", "more-than-7-drafts-at-long")
    mtp = Setup(QWEN, KNOWN.formats["bfloat16"], 65536, 4, "mtp")
    assert numbers(mtp)["request_bytes"] / GIB == pytest.approx(4.76, abs=0.005)
    for guard in ("base-model-at-64k", "64k-at-090-before-0-29"):
        dflash_need(resolver, "4.76", guard)
    kvarn = Setup(QWEN, KNOWN.formats["kvarn"], 262144)
    assert numbers(kvarn)["request_bytes"] / GIB == pytest.approx(3.44, abs=0.005)
    dflash_need(resolver, "3.44 GiB", "4-bit-length-that-wsl-cannot-hold")


@example({"CTX": "fast", "EXTRA_ARGS": "--tensor_parallel_size x"}, 0, "max_model_len")
@given(given_knobs(), st.integers(0, 100), st.sampled_from(SOLVABLE))
def test_any_knobs_have_an_answer_or_a_reason(
    resolver: Resolver, knobs: Mapping[str, str], which: int, what: str
) -> None:
    """No traceback, whatever is asked: an answer that is plain data, or a reason why there is none."""
    every = names(resolver.root)
    machine = load_machine(resolver.root, every[which % len(every)])
    request = build(resolver.rules, resolver.table, environ=knobs)
    resolution = resolver.resolve(request, machine, resolver.engine_of(machine))
    try:
        data = as_json(asked(resolution), what, True)
    except NoGeometry:
        return
    assert data["answer"] in ORDER
    assert json.dumps(data)
