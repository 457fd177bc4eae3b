# SPDX-License-Identifier: Apache-2.0
"""The plugin in a real vLLM 0.31, without a GPU.

Needs a Python that has vLLM 0.31 (its compiled parts may be missing), named by SPLITVERIFY_TEST_VLLM_PYTHON.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from vllm_env import HERE, PYTHON, child

pytestmark = pytest.mark.skipif(not PYTHON, reason="SPLITVERIFY_TEST_VLLM_PYTHON names no Python with vLLM 0.31")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that makes the entry point visible without installing anything."""
    import tomllib

    root = tmp_path_factory.mktemp("site")
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    info = root / "splitverify-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: splitverify\nVersion: 0.1.0\n")
    points = project["entry-points"]["vllm.general_plugins"]
    (info / "entry_points.txt").write_text(
        "[vllm.general_plugins]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))
    return root


def test_registers_custom_alone_without_switches(site: Path) -> None:
    found = child(site, "plugins", {"cuda": True})
    assert found["off"] is None
    assert found["paths"]["CUSTOM"] == "splitverify.plugin.custom.SplitVerifyBackend"
    assert "splitverify" not in found["paths"]["FLASH_ATTN"] + found["paths"]["TRITON_ATTN"]
    assert found["transformers"] and not found["kernels_is_ours"]


def test_switch_overrides_both_backends(site: Path) -> None:
    paths = child(site, "plugins", {"cuda": True}, VLLM_SPEC_DECODE_ATTN="1")["paths"]
    assert paths["FLASH_ATTN"] == "splitverify.plugin.overrides.VerifyFlashAttentionBackend"
    assert paths["TRITON_ATTN"] == "splitverify.plugin.overrides.VerifyTritonAttentionBackend"


def test_the_prefill_switch_overrides_both_backends(site: Path) -> None:
    paths = child(site, "plugins", {"cuda": True}, VLLM_PREFILL_ATTN="fp16")["paths"]
    assert "splitverify" in paths["FLASH_ATTN"] and "splitverify" in paths["TRITON_ATTN"]


def test_the_sampler_is_ours_when_asked_for(site: Path) -> None:
    """vLLM's sampler looks its kernel up in its module, where ours then stands before it; once, however often it loads."""
    assert child(site, "sampler", {}, SPLITVERIFY_SAMPLER="1") == dict(ours=True, once=True)
    assert child(site, "sampler", {}) == dict(ours=False, once=True)


@pytest.mark.parametrize("switch", [dict(VLLM_SPEC_DECODE_ATTN_QMAX="99"), dict(VLLM_PREFILL_ATTN="int4")])
def test_a_wrong_switch_turns_it_off(site: Path, switch: dict[str, str]) -> None:
    paths = child(site, "plugins", {"cuda": True}, VLLM_SPEC_DECODE_ATTN="1", **switch)["paths"]
    assert paths["CUSTOM"] is None and "splitverify" not in paths["FLASH_ATTN"]


def test_stays_off_without_cuda(site: Path) -> None:
    found = child(site, "plugins", {"cuda": False}, VLLM_TARGET_DEVICE="cpu")
    assert found["off"] == "the platform is not CUDA" and found["paths"]["CUSTOM"] is None


def test_the_real_selector(site: Path) -> None:
    wanted: list[tuple[dict[str, Any], str | None]] = [
        (dict(), None),
        (dict(head_size=128, use_non_causal=True, has_sliding_window=True), None),
        (dict(kv_cache_dtype="int8_per_token_head", capability=[8, 6]), None),
        (dict(kv_cache_dtype="fp8", capability=[8, 6], block_size=880), None),
        (dict(kv_cache_dtype="int8_per_token_head", capability=[12, 0], block_size=864), None),
        (dict(capability=[7, 5]), "custom-below-capability-8-0"),
        (dict(head_size=64), "custom-head-size"),
        (dict(dtype="float32"), "custom-dtype"),
        (dict(kv_cache_dtype="int4_per_token_head"), "custom-kv-cache-dtype"),
        (dict(block_size=24), "custom-block-size"),
        (dict(has_sink=True), "custom-sinks"),
        (dict(use_batch_invariant=True), "custom-batch-invariance"),
        (dict(kv_cache_dtype="int8_per_token_head", use_kv_connector=True), "custom-planar-kv-connector"),
    ]
    answers = child(site, "select", [dict(backend="CUSTOM", **fields) for fields, _ in wanted])
    for (fields, guard), answer in zip(wanted, answers, strict=True):
        if guard is None:
            assert answer.get("path") == "splitverify.plugin.custom.SplitVerifyBackend", (fields, answer)
        else:
            assert f"[{guard}]" in answer.get("refused", ""), (fields, answer)


def test_fa2_fp8_is_accepted_where_flash_attention_has_none(site: Path) -> None:
    asked = [dict(backend="FLASH_ATTN", kv_cache_dtype="fp8", capability=[8, 6])]
    assert "refused" in child(site, "select", asked)[0]
    assert "path" in child(site, "select", asked, FA2_FP8KV="1")[0]


@pytest.mark.parametrize(("fmt", "layout"), [("auto", "planar"), ("fp8", "planar"), ("int8_per_token_head", "planar"),
                                             ("int8_per_token_head", "inline")])
def test_the_impl_stores_and_verifies(site: Path, fmt: str, layout: str) -> None:
    found = child(site, "layer", dict(fmt=fmt, layout=layout), TRITON_INTERPRET="1")
    assert found["wrong"] is None and found["padding_untouched"]
    assert found["prefill_wrong"] is None and found["prefilled"] and not found["fell_back"]
    assert found["prefill_scores"] == ("exact8" if fmt == "int8_per_token_head" else "plain")
    if layout == "inline":
        assert found["same_bytes"], "our store and vLLM's leave different bytes"


def test_this_process_did_not_import_vllm() -> None:
    assert "vllm" not in sys.modules
