# SPDX-License-Identifier: Apache-2.0
"""Selection tables, the plugin's records and switches, layouts, limits: no kernel runs here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from splitverify.cases import FORMATS, Case, empty_cache, why_wrong
from splitverify.layout import view_cache
from splitverify.ops.config import KernelConfig
from splitverify.ops.scratch import allocate_scratch, scratch_bytes
from splitverify.ops.verify_attention import unsupported
from splitverify.plugin import fallbacks, register, why_off
from splitverify.plugin.reasons import holds, overlay, refusals
from splitverify.plugin.switches import int8_layout, query_max
from splitverify.selection import ARCHITECTURES, NoTable, load_table, select, table_name

LAYERS = ((256, 24, 4), (256, 12, 2), (128, 32, 8), (128, 16, 1))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(("fmt", "layout"), [("bf16", "inline"), ("fp8", "inline"), ("int8", "planar"), ("int8", "inline")])
def test_every_launch_gets_a_config(arch: int, fmt: str, layout: str) -> None:
    for size, heads, kv_heads in LAYERS:
        for q in (1, 2, 5, 8, 16, 64):
            for length in (1, 5000, 10**6):
                for requests in (1, 7, 256):
                    choice = select((arch // 10, arch % 10), 82, head_size=size, fmt=fmt, layout=layout,
                                    num_heads=heads, num_kv_heads=kv_heads, max_query_len=q, max_length=length,
                                    requests=requests)
                    assert choice.config.rows + choice.config.rows2 >= heads // kv_heads
                    assert arch >= 89 or choice.config.decode != "native"
                    assert (choice.measured is None) == ("not measured" in choice.why())


def test_more_requests_never_get_more_segments() -> None:
    def segments(requests: int) -> int:
        return select((9, 0), 132, head_size=256, fmt="int8", layout="planar", num_heads=24, num_kv_heads=4,
                      max_query_len=8, max_length=10**6, requests=requests).config.segments
    counts = [segments(n) for n in range(1, 40)]
    assert counts == sorted(counts, reverse=True) and counts[0] > 16 and counts[-1] >= 1


def test_architectures_without_a_table_take_one_that_fits() -> None:
    assert [table_name(c) for c in ((8, 0), (8, 7), (10, 0), (12, 1))] == ["sm_86", "sm_86", "sm_90", "sm_120"]
    with pytest.raises(NoTable, match="below 8.0"):
        table_name((7, 5))


def test_tables_hold_no_unknown_fields() -> None:
    for arch in ARCHITECTURES:
        for row in load_table(f"sm_{arch}"):
            fields = dict(row["config"])
            assert 0 < fields.pop("programs_per_sm") <= 4
            KernelConfig(**fields)
            assert row["measured"] is None or arch == 90


def test_guards_fire_and_stay_silent() -> None:
    fine: dict[str, Any] = dict(
        device_capability=(8, 6), head_size=256, dtype="bfloat16", kv_cache_dtype="int8_per_token_head", block_size=864,
        use_mla=False, has_sink=False, use_sparse=False, use_mm_prefix=False, use_per_head_quant_scales=False,
        attn_type="decoder", use_batch_invariant=False, use_rswa=False, use_pcp=False, use_dcp=False,
        use_kv_connector=False, int8_layout="planar")
    assert refusals(fine) == []
    bad: dict[str, Any] = dict(
        device_capability=(7, 5), head_size=64, dtype="float32", kv_cache_dtype="fp8_e5m2", block_size=8, use_mla=True,
        has_sink=True, use_sparse=True, use_mm_prefix=True, use_per_head_quant_scales=True, attn_type="encoder",
        use_batch_invariant=True, use_rswa=True, use_pcp=True, use_dcp=True, use_kv_connector=True)
    for guard in overlay()["guards"]:
        fired = refusals({**fine, **{k: bad[k] for k in guard["when"] if k in bad and k != "kv_cache_dtype"
                                     or k == "kv_cache_dtype" and "not_in" in str(guard["when"][k])}})
        assert f"{guard['refuse']}: {guard['fix']} [{guard['id']}]" in fired
    with pytest.raises(ValueError, match="unknown condition"):
        holds({"above": 1}, 2)


def test_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert query_max() == 16 and int8_layout() == "planar"
    monkeypatch.setenv("VLLM_SPEC_DECODE_ATTN_QMAX", "8")
    assert query_max() == 8
    for text in ("0", "65", "-1", "x"):
        monkeypatch.setenv("VLLM_SPEC_DECODE_ATTN_QMAX", text)
        with pytest.raises(ValueError, match="QMAX"):
            query_max()
    monkeypatch.setenv("SPLITVERIFY_INT8_LAYOUT", "diagonal")
    with pytest.raises(ValueError, match="diagonal"):
        int8_layout()


@pytest.mark.parametrize(("version", "says"), [(None, "not installed"), ("0.30.1", "not one of"), ("0.310", "not one of")])
def test_harmless_beside_another_vllm(monkeypatch: pytest.MonkeyPatch, version: str | None, says: str) -> None:
    import importlib.metadata as metadata

    def fake(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version
    monkeypatch.setattr(metadata, "version", fake)
    assert says in str(why_off()) and register() == []


def test_fallbacks_are_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    fallbacks.COUNTS.clear()
    with caplog.at_level("INFO", "vllm.splitverify"):
        for _ in range(3):
            fallbacks.fall_back("FLASH_ATTN", "a reason")
    assert fallbacks.COUNTS["FLASH_ATTN: a reason"] == 3 and len(caplog.records) == 1


def test_the_package_imports_nothing() -> None:
    code = "import sys, splitverify, splitverify.plugin; print([m for m in ('torch', 'triton', 'vllm') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           cwd=Path(__file__).parent.parent, check=True).stdout
    assert found.strip() == "[]"


def test_limits() -> None:
    assert unsupported(24, 4, 256, 16) is None
    for args, says in (((24, 4, 64, 8), "head size"), ((24, 5, 128, 8), "group"), ((34, 2, 128, 8), "group"),
                       ((24, 4, 256, 65), "query tokens"), ((24, 4, 256, 0), "query tokens")):
        assert says in str(unsupported(*args))
    with pytest.raises(ValueError, match="rows"):
        KernelConfig(rows=48)
    scratch = allocate_scratch(8, 24, 128, 4, "cpu")
    assert scratch.acc.nbytes + scratch.ml.nbytes == scratch_bytes(8, 24, 128, 4)
    assert scratch.why_too_small(8, 24, 128, 4) is None and scratch.why_too_small(1, 24, 128, 32) is None
    assert "more scratch" in str(scratch.why_too_small(9, 24, 128, 4))
    assert "heads" in str(scratch.why_too_small(1, 24, 256, 1))


def test_layouts_refuse_what_they_cannot_hold() -> None:
    pool = empty_cache(Case(fmt="int8", num_kv_heads=2, head_size=128), 3, "cpu")
    for wrong, says in ((dict(head_size=256, fmt=FORMATS["int8"]), "cell"), (dict(head_size=130, fmt=0), "cell"),
                        (dict(head_size=128, fmt=FORMATS["int8"], layout="spiral"), "unknown")):
        with pytest.raises(ValueError, match=says):
            view_cache(pool, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dense"):
        view_cache(pool[:, :1], 128, FORMATS["int8"], "planar")
    with pytest.raises(ValueError, match="stride"):
        view_cache(torch.empty(2, 2, 16, 512)[..., ::2], 128, 0)


def test_the_tolerance_can_fail() -> None:
    ref = torch.randn(4, 2, 128)
    assert why_wrong(ref, ref, 1.0) is None
    assert "not finite" in str(why_wrong(ref.masked_fill(ref > 3, float("nan")), ref, 1.0)) or bool((ref <= 3).all())
    assert "largest error" in str(why_wrong(ref + 0.1, ref, 1.0))


def test_overlay_is_json_with_unique_ids() -> None:
    ids = [g["id"] for g in overlay()["guards"]]
    assert len(ids) == len(set(ids)) and json.dumps(overlay())
