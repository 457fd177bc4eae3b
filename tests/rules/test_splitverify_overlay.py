"""The overlay of this project's kernels says what their plugin says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resolver.compile import open_resolver, product_root
from resolver.engine import Engine
from resolver.yaml12 import read
from tests.check.suite import resolve_request

ROOT = product_root()
PLUGIN: dict[str, Any] = json.loads((ROOT / "kernels/splitverify/plugin/overlay.json").read_text(encoding="utf-8"))
OVERLAY: dict[str, Any] = read(ROOT / "rules/engines/overlays/splitverify.yaml").data


@pytest.fixture(scope="module")
def engine() -> Engine:
    return open_resolver().engine("0.31.0+splitverify")


def test_the_same_variables() -> None:
    assert set(OVERLAY["brings"]["variables"]) == set(PLUGIN["provides"]["environment"])


def test_the_same_engine_versions() -> None:
    assert all(any(v.startswith(f"{w}.") for w in PLUGIN["engine"]["vllm"]) for v in OVERLAY["engine"])


def test_the_same_cache_dtypes() -> None:
    """Both name the dtypes of CUSTOM, and those of FLASH_ATTN below 8.9 behind FA2_FP8KV."""
    rows = OVERLAY["brings"]["attention"]
    for backend, dtypes in (
        ("CUSTOM", PLUGIN["provides"]["attention_backends"]["CUSTOM"]["kv_cache_dtypes"]),
        ("FLASH_ATTN", PLUGIN["provides"]["kv_cache_dtypes_by_environment"]["FA2_FP8KV"]["FLASH_ATTN"]),
    ):
        assert {row["kv_cache_dtype"] for row in rows if row["backend"] == backend} == set(dtypes)
    assert all(max(map(float, row["capability"])) < 8.9 for row in rows if row["backend"] == "FLASH_ATTN")


@pytest.mark.parametrize("dtype", ["int8_per_token_head", "fp8", "bfloat16"])
def test_the_engine_then_serves_them(engine: Engine, dtype: str) -> None:
    stock = open_resolver().engine("0.31.0")
    for causal in (True, False):
        with_it, without = (
            [b for row in e.support("8.6", dtype, None, causal) for b in row.serves] for e in (engine, stock)
        )
        assert "CUSTOM" in with_it
        assert "CUSTOM" not in without


def test_a_prefill_kernel_asked_for_has_a_reader() -> None:
    """Stock vLLM does not read VLLM_PREFILL_ATTN, so asking for it is refused; the plugin reads it."""
    resolver = open_resolver()
    asked = {"machine": "h200", "knobs": {"spec": "mtp", "ctx": "long", "prefill_attn": "int8"}}
    stock, ours = (resolve_request(resolver, {**asked, "engine": e}) for e in ("0.31.0", "0.31.0+splitverify"))
    assert stock.refused
    assert not ours.refused
    assert ours.environment()["VLLM_PREFILL_ATTN"] == "int8"
