"""The launches of the run: none is refused, and `fit` predicts the pools that an H200 printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resolver.cli import dispatch
from tests.e2e.machine import h200

from e2e import launches, models, plans  # isort: skip  (tests.e2e makes it importable)

POOLS = {
    "off-flash-bf16": (400, 1285604),
    "off-custom-int8": (800, 2487283),
    "mtp3-flash-bf16": (416, 844328),
    "mtp3-custom-int8": (816, 1615788),
    "dflash7-flash-bf16": (448, 1056158),
    "dflash7-custom-int8": (864, 1908979),
    "mtp3-flash-bf16-verify": (416, 253298),
    "mtp3-triton-int8": (816, 484429),
    "tight-custom-int8": (816, 34882),
}
"""What vLLM 0.31.0 printed on an H200: block, tokens. The first six have 10 GiB."""


def answer(command: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    models.make(folder / "models")
    words = launches.words(launches.ALL[name], folder / "models")
    dispatch.main([command, "--json", "--machine", h200(folder), *words])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", POOLS)
def test_fit_predicts_the_pool_that_was_printed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model's shape is read from its config.json; nothing of the pool is fitted."""
    exact = answer("fit", name, tmp_path, capsys)["numbers"]["exact"]
    assert (exact["block"], exact["printed_tokens"]) == POOLS[name]


@pytest.mark.parametrize("name", launches.ALL)
def test_the_launch_is_accepted_and_says_what_its_name_says(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = answer("resolve", name, tmp_path, capsys)
    assert data["ok"], data["diagnostics"]
    argv = data["argv"]
    _, backend, cache = name.split("-")[:3]
    said = {flag: argv[argv.index(flag) + 1] for flag in ("--attention-backend", "--kv-cache-dtype")}
    assert said["--attention-backend"].startswith(backend.upper())
    assert said["--kv-cache-dtype"].startswith({"bf16": "bfloat16"}.get(cache, cache))
    verify = data["env"]["set"].get("VLLM_SPEC_DECODE_ATTN") == "1"
    assert verify == (name.endswith("-verify") or name == "dflash7-custom-int8")


def test_every_plan_names_launches() -> None:
    for plan in plans.ALL.values():
        assert set(plan.engines) <= set(launches.ALL)
        assert plan.served is None or plan.served in launches.ALL
    assert set(plans.ALL["again"].engines) >= set(plans.ALL["rest"].engines)
    run = {*plans.ALL["full"].engines, *plans.ALL["rest"].engines}
    assert run == set(launches.ALL) - {"served-custom-int8"}
